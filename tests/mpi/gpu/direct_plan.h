/*
 * Plans of the ranks of gpu/direct.c: rows of a covering array
 * (../direct_rows.py), or plans that all draw from one seed.
 */
#ifndef MGDS_TESTS_GPU_DIRECT_PLAN_H
#define MGDS_TESTS_GPU_DIRECT_PLAN_H

#include <stdbool.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { MOST = 4, LONGEST = 300000 };

enum send_form {
    SEND,
    SSEND,
    RSEND, /* if its receive stands, as all ready ones */
    BSEND,
    SENDRECV_TO,
    REPLACE_TO,
    ISEND, /* from here on with a request */
    ISSEND,
    IRSEND,
    IBSEND,
    ISENDRECV_TO,
    IREPLACE_TO,
    SEND_INIT,
    SSEND_INIT,
    RSEND_INIT,
    BSEND_INIT,
    PSEND,
    SEND_FORMS
};

enum recv_form {
    RECV,
    SENDRECV_FROM,
    REPLACE_FROM,
    MRECV,
    IRECV, /* from here on with a request */
    RECV_INIT,
    PRECV,
    ISENDRECV_FROM,
    IREPLACE_FROM,
    IMRECV,
    RECV_FORMS
};

enum probe_form { NO_PROBE, PROBE, IPROBE, MPROBE, IMPROBE, PROBE_FORMS };

/* How a request is completed. */
enum end_form {
    WAIT,
    TEST,
    WAITANY,
    TESTANY,
    WAITALL,
    TESTALL,
    WAITSOME,
    TESTSOME,
    GET_STATUS,
    END_FORMS
};

/* Bytes in a row; four-byte elements; four bytes of every eight, each of them
 * an element, or all one; one and three of twelve; one element, all bytes in a
 * row behind a gap. */
enum shape { BYTES, INTS, GAPS, VECTOR, STRUCT, SHIFTED, SHAPES };

enum comm_form { WORLD, DUPLICATE, REVERSED, COMMS };

struct plan {
    enum send_form send;
    enum recv_form recv;
    enum probe_form probe;
    enum end_form sent_by, received_by;
    enum mgds_test_kind out_kind, in_kind;
    int out_device, in_device;
    enum shape out_shape, in_shape;
    size_t sent, posted; /* bytes of data */
    int tag, seed;
    int any_source, any_tag;
};

struct batch {
    int from, to, count;
    bool posted_first; /* receives are posted before anything is sent */
    bool backwards;    /* the last receive is completed first */
    bool both_ways;    /* the receiver sends the same at the same time */
    enum comm_form comm;
    int tag;  /* its messages have this one and the next */
    int laps; /* the same again; persistent requests are started again */
    struct plan plan[MOST];
};

void plan_seed(unsigned long long seed);
void plan_draw(struct batch *batch, int lap);

/* Rows; the strength of the array that one belongs to; one as a batch. */
int plan_rows(void);
int plan_strength(int row);
void plan_take(struct batch *batch, int number);

bool plan_has_request(enum send_form form);
bool plan_is_immediate(enum recv_form form);

/* Sends and receives by one call, of Sendrecv or of Isendrecv. */
bool plan_is_joined(const struct batch *batch);

#endif
