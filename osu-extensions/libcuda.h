/*
 * The CUDA driver's library, for programs that allocate GPU memory: opened by
 * name when first needed, never linked. Each call is asked for by the CUDA
 * version whose form of it the caller knows. Touches libcuda.so.1 only.
 */
#ifndef MGDS_BENCH_LIBCUDA_H
#define MGDS_BENCH_LIBCUDA_H

/*
 * Opens the library, once. Returns 0, or -ENODEV with one line in why that
 * names what is missing and the remedy. One thread.
 */
int mgds_libcuda_open(char why[256]);

/* The call of that version, or NULL. After mgds_libcuda_open. */
void *mgds_libcuda_find(const char *name, int version);

/* The same, with one line in why that names the call and the remedy if it is
 * NULL. */
void *mgds_libcuda_need(const char *name, int version, char why[256]);

#endif
