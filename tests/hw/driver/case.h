/* A row of the list, and what a case may use. Every case file ends in a table
 * of rows; cases.c lists the tables. A case leaves no work behind: it releases
 * every gate, joins every thread and frees what it made. */
#ifndef MGDS_HW_CASE_H
#define MGDS_HW_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "env.h"
#include "gate.h"
#include "report.h"
#include "task.h"

/* What a case needs of the machine; an unmet need is the only ground for a
 * skip. env.c tells which are met. */
enum mgds_need {
    NEED_2DEV = 1 << 0,    /* two devices */
    NEED_PEER = 1 << 1,    /* two devices with peer access both ways */
    NEED_MEMOPS = 1 << 2,  /* stream memory operations (every gate) */
    NEED_MEMOP64 = 1 << 3, /* their 64-bit forms */
    NEED_NOR = 1 << 4,     /* CU_STREAM_WAIT_VALUE_NOR */
    NEED_VMM = 1 << 5,     /* virtual memory management with fd handles */
    NEED_POOLS = 1 << 6,   /* stream-ordered allocation */
    NEED_MANAGED = 1 << 7, /* managed memory, concurrent access */
    NEED_IPC = 1 << 8,     /* memory and event handles across processes */
    NEED_KERNELS = 1 << 9, /* the list's own kernels can be loaded */
    NEED_IMAGE = 1 << 10,  /* the library's image was made by nvcc */
};

enum mgds_case_flag {
    ALONE = 1 << 0,  /* a process of its own: it harms the context */
    FRESH = 1 << 1,  /* the same, and CUDA is not initialised in it yet */
    UNSURE = 1 << 2, /* the expectation is not documented: hardware decides */
};

struct mgds_case {
    const char *name; /* reads as a sentence; the function's name */
    void (*run)(void);
    unsigned needs;
    unsigned flags;
    unsigned timeout; /* seconds, 0 for the usual one */
};

/* CASE(function, needs, flags, timeout): trailing ones may be left out. */
#define CASE(...) CASE_ROW(__VA_ARGS__, 0, 0, 0, 0)
#define CASE_ROW(fn, needs, flags, timeout, ...)                               \
    {                                                                          \
#fn, fn, needs, flags, timeout                                         \
    }
#define CASE_END                                                               \
    {                                                                          \
        NULL, NULL, 0, 0, 0                                                    \
    }

/* All rows, in the order of the files. */
int mgds_case_count(void);
const struct mgds_case *mgds_case_at(int index);

#endif
