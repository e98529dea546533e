/*
 * Kinds of memory that messages lie in, each behind one table of functions.
 * Those of a GPU need an open one (gpu.h).
 */
#ifndef MGDS_BENCH_MEMORY_H
#define MGDS_BENCH_MEMORY_H

#include <stddef.h>

#include "osu-extensions/options.h"

struct mgds_bench_memory {
    const char *name;
    /* Returns 0 or negative errno; memory is aligned to 256 bytes. */
    int (*alloc)(void **out, size_t bytes);
    void (*free)(void *at);
    /*
     * Copies between this memory and the host's. NULL in both: the program
     * loads from and stores to this memory itself.
     */
    int (*put)(void *to, const void *from_host, size_t bytes);
    int (*get)(void *to_host, const void *from, size_t bytes);
};

/* Never NULL. */
const struct mgds_bench_memory *
mgds_bench_memory_find(enum mgds_bench_kind kind);

/*
 * Memory of a kind with a view of it that the host can use: the memory
 * itself, or a copy that flush and fetch keep equal to it.
 */
struct mgds_bench_buffer {
    const struct mgds_bench_memory *memory;
    char *at;   /* for MPI */
    char *view; /* for us */
    size_t bytes;
};

/* 0 bytes are fine. Returns 0 or negative errno; undone by fini. */
int mgds_bench_buffer_init(struct mgds_bench_buffer *buffer,
                           const struct mgds_bench_memory *memory,
                           size_t bytes);
void mgds_bench_buffer_fini(struct mgds_bench_buffer *buffer);

/* The first bytes of the view to the memory, and back; 0 or -errno. */
int mgds_bench_buffer_flush(struct mgds_bench_buffer *buffer, size_t bytes);
int mgds_bench_buffer_fetch(struct mgds_bench_buffer *buffer, size_t bytes);

#endif
