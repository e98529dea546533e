/*
 * Nothing new comes through to the GPU of a process: no launch, no copy, in one
 * of two ways no call of the driver's at all. Streams stand in receives of
 * ours, for messages (the last ones) that are sent when what is tested is over:
 * so a case ends only if it needs nothing new.
 *
 * One process may be both ends: then what its stream sends is on its way before
 * the process stands still.
 */
#ifndef MGDS_TESTS_ENQ_STALL_H
#define MGDS_TESTS_ENQ_STALL_H

#include <pthread.h>
#include <stdatomic.h>

#include "tests/enq/enq.h"

enum stall_way {
    /* A thread sits in cuMemFree, which waits for the streams; calls of all
     * other threads wait for that one. */
    STALL_FREE,
    /* All hardware queues hold waits: CUDA_DEVICE_MAX_CONNECTIONS must be
     * STALL_LANES. */
    STALL_QUEUES
};

/* Those that stand, and one more that does not. */
enum { STALL_LANES = 3, STALL_ASIDE = STALL_LANES };

/* Work for a stream of its own again and again: it tells when nothing comes
 * through any more. */
struct stall_probe {
    pthread_t thread;
    CUcontext ctx;
    CUstream cu;
    struct enq_buffer b;
    atomic_bool stop;
    _Atomic uint64_t came; /* ns, when something did last */
};

struct stall {
    enum stall_way way;
    struct enq_lane lane[STALL_LANES + 1];
    struct enq_gate over[STALL_LANES]; /* counted up by the stream */
    uint32_t marks[STALL_LANES];
    struct enq_gate gate[STALL_LANES]; /* for who wants to hold it */
    struct enq_buffer last[STALL_LANES];
    struct enq_buffer spare; /* to be freed */
    struct stall_probe probe;
    pthread_t freer;
    bool begun;
};

/* The rank that sends, and the one that receives: 0 and 1, or both 0. */
int stall_to(void);
bool stall_sends(void);
bool stall_receives(void);

/* Collective. */
void stall_open(struct stall *s, enum stall_way way);
void stall_close(struct stall *s);

/* Behind what is on the lanes now they stand; returns when nothing comes
 * through any more. */
void stall_begin(struct stall *s);
/* What is tested is over: the last messages are sent, to the ranks that have
 * begun, and those go on. Collective among the two ranks. */
void stall_end(struct stall *s);

/* Two words between the two ranks, or nothing if they are one. */
void stall_tell(int to);
void stall_hear(int from);

/* The lane says when it has come to here, its first mark being 1; and this
 * waits for one, without a call of MPI's or the driver's. */
void stall_mark(struct stall *s, int lane);
void stall_await(const struct stall *s, int lane, uint32_t mark);

/* The cases of each file, ended by one without a name. */
extern const struct enq_case stall_ring_cases[], stall_staged_cases[],
    stall_import_cases[];

#endif
