/* Small programs of one or two callers, for tests that run them in every order
 * of events: operations, and the calls that are made of them. */
#ifndef MGDS_TEST_PROGRAM_H
#define MGDS_TEST_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_OPS = 4, PROGRAM_CALLS = 12, PROGRAM_CALLERS = 2 };

/* Bytes, with the settings of program_settings: what fits in a slot, so often
 * that two fill a ring, what goes by fragments alone, and what is copied out of
 * the sender's memory. */
enum {
    PROGRAM_SHORT = 40,
    PROGRAM_BIG = 4096,
    PROGRAM_MIDDLE = 5000,
    PROGRAM_LONG = 8192
};

/* An operation of a caller. Tags are those of sends: PROGRAM_TAG and the number
 * of the send among the program's operations. */
enum { PROGRAM_TAG = 5 };
struct program_op {
    bool send, host, sync;
    bool plain;           /* not enqueued */
    bool any;             /* a receive from any source, of any tag */
    bool vector;          /* every second byte pair of GPU memory */
    unsigned char caller; /* 0 or 1 */
    unsigned char stream; /* its own index */
    unsigned char other;  /* its peer's index */
    unsigned char of;     /* a receive: the send, by its number */
    unsigned short bytes;
    bool instead; /* run only if the one ahead of it was cancelled */
};

enum program_act {
    PROGRAM_END,
    PROGRAM_START,  /* Isend_enqueue, Irecv_enqueue, or the host's Isend, Irecv
                     */
    PROGRAM_RUN,    /* Send_enqueue, Recv_enqueue */
    PROGRAM_WAIT,   /* Wait_enqueue, on `stream` */
    PROGRAM_WAIT2,  /* Waitall_enqueue, of op and the next one */
    PROGRAM_TEST,   /* until it is done, then its request goes */
    PROGRAM_FREE,   /* Request_free */
    PROGRAM_CANCEL, /* then PROGRAM_TEST */
    PROGRAM_PROBE,  /* until the message of op is there */
    PROGRAM_MRECV,  /* Mprobe until it is there, then Mrecv into op */
};

struct program_call {
    enum program_act act;
    unsigned char op, stream;
};

struct program {
    const char *name;
    bool pair;     /* two ranks, each of its own GPU; else one, its own peer */
    bool one_gone; /* a message that nobody receives is left */
    unsigned char ticks;   /* how often time may pass while all else could
                              happen */
    bool slow;             /* four times as much of it */
    unsigned char gaps;    /* how many events may come between a call and its
                              put on the stream, in all */
    bool bounded;          /* too many orders: the first ones, and some drawn */
    unsigned char refuses; /* imports fail: errno; */
    unsigned char scarce;  /* 1 + how many requests for pinned memory fail */
    struct program_op op[PROGRAM_OPS];
    struct program_call call[PROGRAM_CALLERS][PROGRAM_CALLS];
};

extern const struct program programs[];
extern const unsigned program_count;

/* Puts the settings that the sizes are of in the environment. */
void program_settings(void);

#endif
