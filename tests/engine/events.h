/* What may happen next to a program in its engine: a step of a caller, of a
 * stream, of the wire, of a thread of ours, or of time. */
#ifndef MGDS_TEST_EVENTS_H
#define MGDS_TEST_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/engine/hand_gpu.h"
#include "tests/engine/world.h"

enum event_kind {
    EVENT_CALL,  /* of a caller */
    EVENT_ROUND, /* of the wire's thread */
    EVENT_HEAD,  /* as loop_wire.h */
    EVENT_READ,
    EVENT_LAND,
    EVENT_CHORE,  /* of the wire's thread */
    EVENT_WORKER, /* its pass */
    EVENT_STEP,   /* of a queue */
    EVENT_HELP,   /* of a queue's kernel, for an order */
    EVENT_TIME,
    EVENT_GO_ON, /* who waits in the middle of a call does not any more */
};

struct event {
    enum event_kind kind;
    unsigned who;          /* caller, queue, or post */
    unsigned what, phase;  /* of it */
    enum hand_touch touch; /* STEP, HELP */
    const char *name;
};

enum { EVENTS_MOST = 32 };

/* How often a call that asks is made in vain while something else can happen.
 */
extern unsigned events_attempts;

/* What the engine may have to be looked at for: between two runs. */
struct events_state {
    struct world *world;
    bool chores_due; /* something has happened that chores may find */
    bool worker_called;
    unsigned ticks, gaps; /* left */
    unsigned calling;     /* a bit for each caller that is in a call */
    unsigned putting;     /* and for the queue, if that puts on a stream */
    unsigned quiet;       /* times in a row that nothing but time passed */
};

void events_open(struct events_state *state, struct world *world);

/* All that may happen, in a constant order: the engine's events first, so that
 * of two orders which are one and the same that one is run in which commands
 * are still queued when the engine gives memory back. While a call is being
 * made its caller makes no other, and nobody else puts on its queue. */
unsigned events_list(struct events_state *state, struct event out[EVENTS_MOST]);

/* Time passes where nothing else can happen: false, when it has in vain. */
bool events_wait(struct events_state *state);

void events_do(struct events_state *state, const struct event *event);

/* Whether the order of two that could both happen matters to nobody. */
bool events_are_independent(const struct event *a, const struct event *b);
bool events_are_same(const struct event *a, const struct event *b);

/* In words, for a line. */
void events_text(const struct event *event, char *out, unsigned bytes);

/* Everything that can happen, until nothing can: at the end of a program. */
void events_drain(void);

#endif
