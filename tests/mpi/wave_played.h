/*
 * What tests of completion calls play (wave.h): the MPI below, generalized
 * requests, persistent ones of stream communicators; and entries of the table
 * of requests, with what becomes of them.
 */
#ifndef MGDS_TESTS_WAVE_PLAYED_H
#define MGDS_TESTS_WAVE_PLAYED_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/request_table.h"
#include "shim/pmpi/wave.h"

/* Handles of the MPI below; and our own. */
enum { ONE = 0x6c000101, TWO, THREE, GREQ, OWN = 0x2c000101, OWN_TOO };

/* Called from the next step, once; or NULL. */
extern void (*played_handler)(void);

/* The same from the steps of other receives, if those of headers are looked for
 * (mgds_direct_is_armed); until then none of the call's is done. */
extern void (*played_handler_beside)(void);

/* Of a persistent request of a stream communicator, which stands for GREQ: so
 * many times a stream has some of it, and there is no memory for GREQ. */
extern int played_busy_looks, played_shortage;

/* How often groups were flushed. */
extern int played_flushes;

/* Fates are static, since a test's teardown takes what is left of the entries
 * out of the table. */
struct fate {
    struct mgds_request *request;
    uint64_t serial;
    int released, landed;
};

extern const struct mgds_request_ops played_send_ops, played_persistent_ops,
    played_greq_ops;

/* An entry that is active. */
void played_add(struct fate *fate, const struct mgds_request_ops *ops,
                MPI_Request handle);

bool played_is_there(const struct fate *fate);

int played_tear_down(void **state);

/* Begins a call that completes so many requests. */
void played_begin(struct mgds_wave *wave, MPI_Request *requests, int count,
                  int ours);

#endif
