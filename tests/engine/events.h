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
    EVENT_STOP,  /* the second rank's program and streams do */
    EVENT_PAUSE, /* somebody does nothing for so long that waits end */
    EVENT_RESUME,
    EVENT_LOSE,  /* of a rank, which hears that it has lost the other */
    EVENT_GO_ON, /* who waits in the middle of a call does not any more */
};

struct event {
    enum event_kind kind;
    unsigned who;          /* caller, queue, or post */
    unsigned what, phase;  /* of it */
    enum hand_touch touch; /* STEP, HELP */
    const char *name;
    enum program_act act; /* CALL */
};

enum { EVENTS_MOST = 32 };

/* Who may pause: a caller, the streams of a rank, or, of one rank, a stream,
 * and the wire. */
enum {
    EVENTS_CALLER_0,
    EVENTS_CALLER_1,
    EVENTS_STREAMS_0,
    EVENTS_STREAMS_1,
    EVENTS_WIRE,
    EVENTS_PAUSERS
};

/* Whether such a call puts steps on a stream. */
bool events_act_puts(enum program_act act);
/* Of the program that runs. */
enum program_trouble events_trouble(void);

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
    unsigned done;        /* events */
    uint64_t made;        /* of all of them, in whatever order */
    /* when the program's trouble begins, of those that begin at some event;
     * later if nothing else is left. And whom it befalls: who pauses, or is the
     * first to hear of the end of the other */
    unsigned trouble_at, trouble_of;
    bool begun;              /* it has */
    bool paused;             /* somebody is: `pausing` */
    unsigned pausing, parts; /* and since so many parts of that time */
    bool stopped;            /* the second rank has, and does not go on yet */
    unsigned lost;           /* a bit for each rank that has lost the other */
};

void events_open(struct events_state *state, struct world *world,
                 unsigned trouble_at, unsigned trouble_of);

/* Whom the program's trouble may befall: so many. */
unsigned events_befallen(const struct program *program);

/* All that may happen, in a constant order: the engine's events first, so that
 * of two orders which are one and the same that one is run in which commands
 * are still queued when the engine gives memory back. While a call is being
 * made its caller makes no other, and nobody else puts on its queue. */
unsigned events_list(struct events_state *state, struct event out[EVENTS_MOST]);

/* Time passes where nothing else can happen: false, when it has in vain. */
bool events_wait(struct events_state *state);

void events_do(struct events_state *state, const struct event *event);

/* The program is over: nobody receives what its ranks did not wait for. */
void events_end(struct events_state *state);

/* Whether the order of two that could both happen matters to nobody. */
bool events_are_independent(const struct event *a, const struct event *b);
bool events_are_same(const struct event *a, const struct event *b);

/* In words, for a line. */
void events_text(const struct event *event, char *out, unsigned bytes);

/* Everything that can happen, until nothing can: at the end of a program. */
void events_drain(void);

#endif
