/*
 * Which bytes of a message travel: all of them, or the blocks of a derived
 * datatype (-D). Plain arithmetic, no MPI.
 */
#ifndef MGDS_BENCH_LAYOUT_H
#define MGDS_BENCH_LAYOUT_H

#include <stddef.h>

#define MGDS_BENCH_DDT_BLOCKS_MAX 1024

enum mgds_bench_ddt_kind {
    MGDS_BENCH_DDT_NONE,
    MGDS_BENCH_DDT_CONT,
    MGDS_BENCH_DDT_VECT,
    MGDS_BENCH_DDT_INDX,
};

/* In elements of the base type in a ddt, in bytes in a layout. */
struct mgds_bench_piece {
    size_t offset;
    size_t length;
};

struct mgds_bench_ddt {
    enum mgds_bench_ddt_kind kind;
    size_t stride;
    size_t length;
    struct mgds_bench_piece *blocks; /* indx only, ascending, disjoint */
    size_t count;
};

/* The message of one size: blocks inside span bytes. */
struct mgds_bench_layout {
    const struct mgds_bench_ddt *ddt;
    size_t unit;     /* bytes of the base type */
    size_t elements; /* base elements that the span holds */
    size_t span;     /* bytes from the first to the last byte, gaps too */
    size_t data;     /* bytes that travel */
    size_t blocks;
};

/*
 * Reads "cont", "vect[:STRIDE[:LENGTH]]" or "indx:FILE" (lines
 * "offset,length" in elements). Returns 0, or -EINVAL with one line in why;
 * after 0 the caller owes mgds_bench_ddt_fini.
 */
int mgds_bench_ddt_init(struct mgds_bench_ddt *ddt, const char *text,
                        char why[256]);
void mgds_bench_ddt_fini(struct mgds_bench_ddt *ddt);

/*
 * The layout of size bytes; keeps the pointer to ddt. Returns 0, or -ENODATA
 * if that size holds no element or block (size 0 without ddt holds nothing
 * and is fine).
 */
int mgds_bench_layout_init(struct mgds_bench_layout *layout,
                           const struct mgds_bench_ddt *ddt, size_t unit,
                           size_t size);

/* Block i < blocks, in bytes; blocks ascend and never overlap. */
struct mgds_bench_piece
mgds_bench_layout_piece(const struct mgds_bench_layout *layout, size_t i);

#endif
