/*
 * Messages that their receiver would copy out of the sender's memory, if it
 * could map that (MPIX_SIM_MAPPINGS): they arrive all the same. The sender
 * offers its memory when the receiver stands still. What fails them: a message
 * that waits for what the driver says of the mapping; a host call that does.
 */
#include <string.h>

#include "tests/enq/stall.h"

enum { TAG = 1, BYTES = 70001 };

/* The first one offers the memory, the others know what has become of that. */
enum { MESSAGES = 3 };

static unsigned char bytes[BYTES];

struct import {
    struct stall stall;
    struct enq_buffer out, in[MESSAGES];
    MPI_Request request[MESSAGES];
};

static void import_open(struct import *m, enum stall_way way)
{
    stall_open(&m->stall, way);
    enq_buffer_open_alone(&m->out, BYTES);
    enq_fill(&m->out, 1);
    for (int i = 0; i < MESSAGES; i++) {
        enq_buffer_open_alone(&m->in[i], BYTES);
        m->request[i] = MPI_REQUEST_NULL;
    }
}

static void import_close(struct import *m)
{
    stall_close(&m->stall);
    for (int i = 0; i < MESSAGES; i++)
        enq_buffer_close(&m->in[i]);
    enq_buffer_close(&m->out);
}

/* Each when the one before has arrived. */
static void import_send(struct import *m, int lane)
{
    for (int i = 0; i < MESSAGES; i++) {
        enq_hear(1);
        enq_isend(&m->stall.lane[lane], &m->out, 1, TAG, &m->request[i]);
    }
}

/* Over at the latest when the receives are. */
static void import_sent(struct import *m)
{
    for (int i = 0; i < MESSAGES; i++)
        ENQ_OK(MPI_Wait(&m->request[i], MPI_STATUS_IGNORE));
}

/* By a stream, whose program does nothing. */
static void to_a_stream(enum stall_way way)
{
    struct import m;

    import_open(&m, way);
    if (enq.rank == 0) {
        import_send(&m, 0);
    } else if (enq.rank == 1) {
        for (int i = 0; i < MESSAGES; i++) {
            enq_recv(&m.stall.lane[0], &m.in[i], 0, TAG, MPI_STATUS_IGNORE);
            stall_mark(&m.stall, 0);
        }
        stall_begin(&m.stall);
        for (int i = 0; i < MESSAGES; i++) {
            enq_tell(0);
            stall_await(&m.stall, 0, (uint32_t)i + 1);
        }
    }
    stall_end(&m.stall);
    if (enq.rank == 1) {
        enq_sync(&m.stall.lane[0]);
        for (int i = 0; i < MESSAGES; i++)
            enq_expect(&m.in[i], BYTES, 1);
    }
    import_sent(&m);
    import_close(&m);
}

static void receive_on_the_host(const struct import *m, int lane)
{
    memset(bytes, 0, sizeof(bytes));
    enq_tell(0);
    ENQ_OK(MPI_Recv(bytes, BYTES, MPI_BYTE, 0, TAG, m->stall.lane[lane].comm,
                    MPI_STATUS_IGNORE));
    for (size_t i = 0; i < BYTES; i++)
        CHECK(bytes[i] == enq_byte(1, i));
}

/* By host calls. */
static void to_the_host(enum stall_way way, int lane)
{
    struct import m;

    import_open(&m, way);
    if (enq.rank == 0) {
        import_send(&m, lane);
    } else if (enq.rank == 1) {
        stall_begin(&m.stall);
        for (int i = 0; i < MESSAGES; i++)
            receive_on_the_host(&m, lane);
    }
    stall_end(&m.stall);
    import_sent(&m);
    import_close(&m);
}

static void free_to_a_stream(void)
{
    to_a_stream(STALL_FREE);
}

static void free_to_the_host(void)
{
    to_the_host(STALL_FREE, 0);
    to_the_host(STALL_FREE, STALL_ASIDE);
}

static void queues_to_a_stream(void)
{
    to_a_stream(STALL_QUEUES);
}

static void queues_to_the_host(void)
{
    to_the_host(STALL_QUEUES, 0);
    to_the_host(STALL_QUEUES, STALL_ASIDE);
}

const struct enq_case stall_import_cases[] = {
    {"free_import_to_a_stream", 2, free_to_a_stream},
    {"free_import_to_the_host", 2, free_to_the_host},
    {"queues_import_to_a_stream", 2, queues_to_a_stream},
    {"queues_import_to_the_host", 2, queues_to_the_host},
    {0},
};
