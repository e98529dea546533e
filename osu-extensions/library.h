/*
 * Opens the library of another project by its name, where it usually is or
 * where the user says. Touches the dynamic linker only.
 */
#ifndef MGDS_BENCH_LIBRARY_H
#define MGDS_BENCH_LIBRARY_H

struct mgds_bench_library {
    const char *soname; /* "libnccl.so.2" */
    const char *wheel;  /* its folder below Python's site-packages */
    const char *option; /* "--nccl" */
};

/*
 * The handle, or NULL with one line in why that names the library, where it
 * was looked for, and the option. `path` is a file or its folder; NULL: what
 * the loader finds, then Python's wheels. One thread.
 */
void *mgds_bench_library_open(const struct mgds_bench_library *library,
                              const char *path, char why[256]);

/* The function of that name, or NULL with one line in why. */
void *mgds_bench_library_find(void *handle,
                              const struct mgds_bench_library *library,
                              const char *name, char why[256]);

#endif
