/* A program (program.h) in an engine of its own: communicators, streams,
 * buffers and callers, and what must be so at its end. */
#ifndef MGDS_TEST_WORLD_H
#define MGDS_TEST_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/domain/domain.h"
#include "tests/engine/hand_gpu.h"
#include "tests/engine/program.h"

struct world_op {
    const struct program_op *spec;
    struct mgds_op *op; /* the caller's reference, or NULL */
    struct world *world;
    unsigned char *memory;
    struct mgds_layout *layout;
    struct mgds_op_status status;
    unsigned told;    /* atomic: how often the status was */
    unsigned checked; /* atomic: what came was looked at */
    bool started, freed, cancelled;
};

struct world {
    const struct program *program;
    unsigned domains;
    struct mgds_domain *domain[PROGRAM_CALLERS];
    struct mgds_channels *channels[PROGRAM_CALLERS];
    struct mgds_member member[PROGRAM_CALLERS];
    struct mgds_gstream *stream[PROGRAM_CALLERS][2];
    struct world_op op[PROGRAM_OPS];
    unsigned next[PROGRAM_CALLERS];     /* call */
    unsigned attempts[PROGRAM_CALLERS]; /* of that, in vain */
    uint64_t refused;                   /* envelopes, before */
};

void world_open(struct world *world, const struct program *program);

/* The next call of a caller, or NULL: there is none. */
const struct program_call *world_next(const struct world *world,
                                      unsigned caller);
/* Makes it. False: it is to be made again. */
bool world_call(struct world *world, unsigned caller);
/* The queue of the stream that the call puts on, or -1. */
int world_queue(const struct world *world, unsigned caller);

/* Nothing is enabled any more: what must be so, else a fault (hand_fault). */
void world_check(struct world *world);
/* No command is left. Where threads run one may come that copies nothing any
 * more: a fetch that is late. */
void world_check_queues(void);

/* Gives all back. drain has the rest of the events happen, until there is none;
 * after stop none happens any more. */
void world_close(struct world *world, void (*drain)(void), void (*stop)(void));

#endif
