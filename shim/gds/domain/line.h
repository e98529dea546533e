/*
 * A line: what one stream and the CPU tell each other, in words of pinned
 * memory.
 *
 *   reach   writer: the stream. Marks with numbers up to it were passed: all
 *           that was put ahead of them is done, and its data visible.
 *   go      writer: the CPU, under the engine's lock. Waits with numbers up to
 *           it may pass. Before it is raised: statuses are stored, the bytes
 *           and counts of the receives waited for are in their bounces.
 *
 *   told    writer: a kernel on a stream of ours. As reach, but of marks that
 *           are quiet: the stream keeps them in its own memory, which is
 *           cheaper (device/abi.h), until a host call asks.
 *   answer  writer: the same, after told. Questions up to it were answered.
 *
 * Each only grows, since a stream does its work in the order in which numbers
 * were given out; so one word each serves any number of operations. Numbers
 * have 64 bits and do not come again. Where memory operations have 32 bits
 * reach and go are compared cyclically: no mark is 2^31 behind the next one
 * that is told of, and no wait behind those that may pass.
 *
 * Nothing waits for a quiet mark but places in rings, records, and calls that
 * drain: a loud one comes by itself with every send, and with every so many
 * receives.
 *
 * All functions are called under the engine's lock, but mgds_line_of,
 * mgds_lines_due, mgds_lines_ask, mgds_lines_to_ask and mgds_lines_fini.
 */
#ifndef MGDS_DOMAIN_LINE_H
#define MGDS_DOMAIN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/domain/debt.h"
#include "shim/gds/domain/stand.h"
#include "shim/gds/msg/engine.h"

struct mgds_gstream;
struct mgds_op;

/* Something that happens when the stream has come to a place. */
struct mgds_mark {
    struct mgds_mark *next;
    uint64_t number;
    bool spoken;  /* never quiet */
    bool of_wait; /* it is a wait's first member */
    void (*passed)(struct mgds_mark *mark);
};

/* A wait in a stream, until the stream has passed it and the CPU has let it. */
struct mgds_wait {
    struct mgds_mark mark;  /* first; behind the wait and its copies up */
    unsigned refs;          /* of the mark, and of the line's list of waits */
    struct mgds_step *step; /* for its steps, if it is of more than one op */
    struct mgds_line *line;
    struct mgds_wait *next;
    struct mgds_ending ending;
    uint64_t number;
    unsigned missing; /* operations that are not done */
    unsigned takes;   /* TAKEs put for it */
    bool put;         /* a WAIT was put for it */
    bool loud;        /* its mark is to be stored, whatever it waits for */
    bool broken;      /* it could not be put: its mark is passed by nobody */
    uint64_t behind;  /* the mark just ahead of its WAIT, or 0 */
    unsigned count;
    struct mgds_op *op[]; /* references */
};

struct mgds_line {
    struct mgds_gstream *stream; /* a reference */
    uint64_t *words;             /* a line of words.h; in it: */
    uint64_t *reach, *go, *told, *answer;
    bool narrow;           /* of reach only 32 bits are written (gstream.h) */
    uint64_t marks, waits; /* numbers given out */
    uint64_t passes;       /* counts marks that were passed */
    unsigned quiet;        /* the last so many marks */
    size_t quiet_bytes;    /* of what they are behind */
    uint64_t spoken;       /* the last mark of a send, and the last one that */
    uint64_t hushed;       /* was found to be quiet when it was put long ago */
    uint64_t asked;        /* questions */
    uint64_t due, gap;     /* when the next one may be asked, ns, and from then
                              on */
    uint64_t check;        /* when its context is looked at, ns */
    uint64_t awaited;      /* 1 + the number of the first mark, 0: none. Atomic:
                              written under the lock, read without it, too */
    bool held;             /* the wire's thread is kept awake */
    struct mgds_stand stand;
    struct mgds_mark *first, **last;
    struct mgds_wait *first_wait, **last_wait;
    bool released; /* all waits may pass, for ever */
    int doomed;    /* the error with which it is to be ruined, or 0 */
    int ruined;    /* the error with which all on it ends, for ever, or 0;
                      atomic: as awaited */
    struct mgds_debt owed;
    unsigned asking;        /* threads that launch a question */
    struct mgds_line *next; /* atomic */
    struct mgds_line *next_spent;
};

/* The stream's line, made when it is first asked for: may pin memory. Without
 * the engine's lock. It has a reference to the stream, and lives as long as
 * somebody else has one, or one of its marks was not passed. The error of one
 * that is ruined. */
int mgds_line_of(struct mgds_line **out, struct mgds_gstream *stream);

/* Gives the mark a number: it is what the stream is to store in reach. The
 * wire's thread looks out for it from now on. */
void mgds_line_mark(struct mgds_line *line, struct mgds_mark *mark);

/* A mark for which nothing is put: passed with the last one that was given a
 * number. */
void mgds_line_ride(struct mgds_line *line, struct mgds_mark *mark);

/* Asks the GPU for quiet marks that stand: a CUDA call, by a host call or the
 * worker. And whether there are any to ask for now. */
void mgds_lines_ask(void);
bool mgds_lines_to_ask(void);

/* Gives a wait, whose `missing` is set and which has a reference for that, its
 * number: it is what the stream is to wait for in go. */
void mgds_line_wait(struct mgds_line *line, struct mgds_wait *wait);

/* Lets waits pass that miss nothing, in their order: each is settled first. */
void mgds_line_go(struct mgds_line *line);

/* One operation less is missing. */
void mgds_wait_less(struct mgds_wait *wait);

/* What should have stored the mark's number could not be put: the mark is
 * passed now, with all that ride on it. */
void mgds_line_break(struct mgds_line *line, struct mgds_mark *mark);

/* Whether there may be marks that were passed: any thread, without the lock. */
bool mgds_lines_due(void);

/* Calls the marks that were passed. True if there were any. */
bool mgds_lines_poll(void);

/* Whether it is known that the stream has passed the mark of that number. */
bool mgds_line_has_passed(const struct mgds_line *line, uint64_t number);

/* Marks of the stream, or of all if NULL, that were not passed. */
unsigned mgds_lines_pending(const struct mgds_gstream *stream);

/* Lets all waits of all lines pass, now and later. */
void mgds_lines_release(void);

void mgds_lines_fini(void);

#endif
