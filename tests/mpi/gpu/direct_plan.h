/*
 * What the ranks of gpu/direct.c do: all draw the same plans from one seed.
 */
#ifndef MGDS_TESTS_GPU_DIRECT_PLAN_H
#define MGDS_TESTS_GPU_DIRECT_PLAN_H

#include "tests/mpi/gpu/gpu_case.h"

enum { MOST = 4, LONGEST = 300000 };

enum send_form {
    SEND,
    SSEND,
    RSEND, /* if its receive stands */
    BSEND,
    ISEND,
    ISSEND,
    SEND_INIT,
    SENDRECV_TO,
    SEND_FORMS
};

enum recv_form {
    RECV,
    IRECV_WAIT,
    IRECV_TEST,
    IRECV_WAITANY,
    IRECV_TESTANY,
    IRECV_WAITALL,
    IRECV_TESTALL,
    IRECV_WAITSOME,
    IRECV_TESTSOME,
    IRECV_STATUS,
    RECV_INIT,
    SENDRECV_FROM,
    ISENDRECV_FROM,
    REPLACE,
    IREPLACE,
    MRECV,
    IMRECV,
    RECV_FORMS
};

enum probe_form { NO_PROBE, PROBE, IPROBE, PROBE_FORMS };

/* Bytes in a row; four-byte elements; four bytes of every eight; one element,
 * all bytes in a row behind a gap. */
enum shape { BYTES, INTS, GAPS, SHIFTED, SHAPES };

struct plan {
    enum send_form send;
    enum recv_form recv;
    enum probe_form probe;
    enum mgds_test_kind out_kind, in_kind;
    int out_device, in_device;
    enum shape out_shape, in_shape;
    size_t sent, posted; /* bytes of data */
    int tag, seed;
    int any_source, any_tag;
};

struct batch {
    int from, to, count;
    int posted_first; /* receives are posted before anything is sent */
    int comm;
    int tag; /* of this lap: its messages have this one and the next */
    struct plan plan[MOST];
};

void plan_seed(unsigned long long seed);
void plan_draw(struct batch *batch, int lap);

int plan_is_immediate(enum recv_form form);

#endif
