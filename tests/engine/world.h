/* A program (program.h) in an engine of its own: communicators, streams,
 * buffers and callers, and what must be so at its end. */
#ifndef MGDS_TEST_WORLD_H
#define MGDS_TEST_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"
#include "tests/engine/hand_gpu.h"
#include "tests/engine/program.h"

enum { WORLD_STREAMS = 2 }; /* of each rank */

/* What the engine counts (shim/base/stats.def) that depends on nothing but the
 * order of events: refused envelopes, first, and ways. */
enum { WORLD_COUNTS = 8 };

struct world_op {
    const struct program_op *spec;
    struct mgds_op *op; /* the caller's reference, or NULL */
    struct world *world;
    unsigned char *memory;
    struct mgds_layout *layout;
    struct mgds_op_status status;
    unsigned told;    /* atomic: how often the status was */
    unsigned checked; /* atomic: how often its program used its buffer again */
    bool started, freed, cancelled;
    bool wrong;  /* it has not got what was sent, and its status is well */
    bool failed; /* in a call: it is not, or nobody waits for it */
    struct mgds_gstream *used_on; /* atomic: when its group ends, or NULL */
};

struct world {
    const struct program *program;
    unsigned comms;
    struct mgds_comm *comm[PROGRAM_CALLERS];
    struct mgds_channels *channels[PROGRAM_CALLERS];
    struct mgds_member member[PROGRAM_CALLERS];
    struct mgds_gstream *stream[PROGRAM_CALLERS][WORLD_STREAMS];
    struct world_op op[PROGRAM_OPS];
    unsigned next[PROGRAM_CALLERS];     /* call */
    unsigned attempts[PROGRAM_CALLERS]; /* of that, in vain */
    uint64_t counted[WORLD_COUNTS];     /* before */
};

void world_open(struct world *world, const struct program *program);

/* The next call of a caller, or NULL: there is none. */
const struct program_call *world_next(const struct world *world,
                                      unsigned caller);
/* Makes it. False: it is to be made again. */
bool world_call(struct world *world, unsigned caller);
/* The queue of the stream that the call puts on, or -1. */
int world_queue(const struct world *world, unsigned caller);

/* The operation's number in its program; and of the send whose message a
 * receive is for, or, from any source, has got. */
unsigned world_number(const struct world_op *op);
unsigned world_sender(const struct world_op *op);

/* The rank whose queue that is. */
unsigned world_rank_of_queue(const struct world *world, unsigned queue);

/* Nothing is enabled any more at the ranks, a bit for each: what must be so,
 * else a fault (hand_fault). */
enum { WORLD_ALL = (1 << PROGRAM_CALLERS) - 1 };
void world_check(struct world *world, unsigned ranks);
/* No command is left. Where threads run one may come that copies nothing any
 * more: a fetch that is late. */
void world_check_queues(const struct world *world, unsigned ranks);
/* Since world_open. */
uint64_t world_count(const struct world *world, unsigned number);
/* Nothing is under way any more. */
void world_check_end(struct world *world);

/* Gives all back. drain has the rest of the events happen, until there is none;
 * after stop none happens any more. */
void world_close(struct world *world, void (*drain)(void), void (*stop)(void));

#endif
