/*
 * A timeline (struct mgds_timeline): what one stream and the CPU tell each
 * other, in words of pinned memory.
 *
 *   reach   writer: the stream. Fences (struct mgds_fence) with numbers up to
 * it were reached: all that was put ahead of them is done, and its data
 *           visible.
 *   go      writer: the CPU, under the engine's lock. Waits with numbers up to
 *           it may pass. Before it is raised: statuses are stored, the bytes
 *           and counts of the receives waited for are in their bounces.
 *
 * and told and answer, of fences whose signal is deferred (signals.h). Fences
 * for which the stream stores nothing are asked about (asked.h).
 *
 * Each only grows, since a stream does its work in the order in which numbers
 * were given out; so one word each serves any number of operations. Numbers
 * have 64 bits and do not come again. Where memory operations have 32 bits
 * reach and go are compared cyclically: no fence is 2^31 behind the next one
 * that is signalled, and no wait behind those that may pass.
 *
 * All functions are called under the engine's lock, but mgds_timeline_of,
 * mgds_timelines_due, mgds_timelines_query, mgds_timelines_to_query and
 * mgds_timelines_fini.
 */
#ifndef MGDS_MSG_TIMELINE_H
#define MGDS_MSG_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/msg/asked.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/msg/ruin.h"
#include "shim/gds/msg/signals.h"
#include "shim/gds/msg/stand.h"
#include "shim/gds/msg/engine.h"

struct mgds_group;
struct mgds_gstream;
struct mgds_op;

/* A fence: something that happens when the stream has come to a place. */
struct mgds_fence {
    struct mgds_fence *next;
    const struct mgds_group *group; /* that has it collected (group.h): it has
                                       no number yet; or NULL */
    uint64_t number;
    bool of_send; /* of a send: signalled in any case (signals.h) */
    bool of_wait; /* it is a wait's first member */
    void (*passed)(struct mgds_fence *fence);
};

/* A wait in a stream, until the stream has passed it and the CPU has let it. */
struct mgds_wait {
    struct mgds_fence fence; /* first; behind the wait and its copies up */
    unsigned refs;           /* of the fence, and of the timeline's waits */
    struct mgds_timeline *timeline;
    struct mgds_wait *next;
    struct mgds_ending ending;
    uint64_t number;
    unsigned missing; /* operations that are not done */
    unsigned takes;   /* TAKEs put for it */
    bool put;         /* a WAIT was put for it */
    bool signalled;   /* its fence is to be stored, whatever it waits for */
    bool broken;      /* it could not be put: its fence is reached by nobody */
    uint64_t behind;  /* the fence just ahead of its WAIT, or 0 */
    uint64_t ahead;   /* the last fence that was put before it and what it was
                         put with */
    unsigned count, room;
    struct mgds_op *op[]; /* references */
};

/* Under the engine's lock, but for what is read without it: that is atomic.
 * What a poll reads is in front. */
struct mgds_timeline {
    struct mgds_timeline *next;  /* atomic: timelines.h */
    struct mgds_gstream *stream; /* a reference */
    uint64_t awaited;            /* 1 + the number of the first fence, 0: none;
                                    atomic */
    uint64_t *reach, *go;        /* words of a line of syncwords.h, which are */
    uint64_t *words;             /* this one's, and signals' */
    bool narrow;   /* of reach only 32 bits are written (gstream.h) */
    bool held;     /* it is watched: the wire's thread is kept awake */
    bool released; /* all waits may pass, for ever */
    struct mgds_signals signals;
    struct mgds_asked asked;
    uint64_t fences, waits; /* numbers given out */
    uint64_t passes;        /* counts fences that were reached */
    struct mgds_fence *first, **last;
    struct mgds_wait *first_wait, **last_wait;
    struct mgds_stand stand;
    struct mgds_debt owed;
    uint64_t check; /* ruin.c: when its context is looked at, ns */
    struct mgds_ruin ruin;
    struct mgds_timeline *next_spent; /* timelines.c */
    TAILQ_ENTRY(mgds_timeline) watch; /* timeline.c: while it is held */
};

/* The stream's timeline, made when it is first asked for: may pin memory.
 * Without the engine's lock. It has a reference to the stream, and lives as
 * long as somebody else has one, or one of its fences was not reached. The
 * error of one that is ruined. */
int mgds_timeline_of(struct mgds_timeline **out, struct mgds_gstream *stream);

/* Gives the fence a number: it is what the stream is to store in reach. The
 * wire's thread looks out for it from now on. */
void mgds_timeline_fence(struct mgds_timeline *timeline,
                         struct mgds_fence *fence);

/* A fence for which nothing is put: reached with the last one that was given a
 * number. */
void mgds_timeline_ride(struct mgds_timeline *timeline,
                        struct mgds_fence *fence);

/* The stream's timeline, if there is one whose last fence is deferred. */
struct mgds_timeline *
mgds_timeline_find_deferred(const struct mgds_gstream *stream);

/* Asks the GPU for deferred fences that are not known to be reached: a CUDA
 * call, by a host call or the worker. And whether there are any to ask for now.
 */
void mgds_timelines_query(void);
bool mgds_timelines_to_query(void);

/* Gives a wait, whose `missing` is set and which has a reference for that, its
 * number: it is what the stream is to wait for in go. */
void mgds_timeline_wait(struct mgds_timeline *timeline, struct mgds_wait *wait);

/* Lets waits pass that miss nothing, in their order: each is settled first. */
void mgds_timeline_go(struct mgds_timeline *timeline);

/* One operation less is missing. */
void mgds_wait_less(struct mgds_wait *wait);

/* What should have stored the fence's number could not be put: it counts as
 * reached now, with all that ride on it. */
void mgds_timeline_break(struct mgds_timeline *timeline,
                         struct mgds_fence *fence);

/* The first fence of that number that was not reached, or NULL. */
struct mgds_fence *mgds_timeline_fence_of(const struct mgds_timeline *timeline,
                                          uint64_t number);

/* Whether there may be fences that were reached: any thread, without the lock.
 */
bool mgds_timelines_due(void);

/* Calls the fences that were reached. True if there were any. */
bool mgds_timelines_poll(void);

/* Whether it is known that the stream has reached the fence of that number. */
bool mgds_timeline_has_passed(const struct mgds_timeline *timeline,
                              uint64_t number);

/* Fences of the stream, or of all if NULL, that were not reached. */
unsigned mgds_timelines_pending(const struct mgds_gstream *stream);

/* Lets all waits of all timelines pass, now and later. */
void mgds_timelines_release(void);

void mgds_timelines_fini(void);

#endif
