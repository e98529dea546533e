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
    PROGRAM_GROUP,  /* begins one on `stream`, of which the caller has none */
    PROGRAM_GROUP_END,
};

struct program_call {
    enum program_act act;
    unsigned char op, stream;
};

/* What goes wrong while it runs. */
enum program_trouble {
    PROGRAM_WELL,
    PROGRAM_UNREADABLE, /* receivers refuse to copy: what they have mapped
                           cannot be read */
    PROGRAM_FORBIDDEN,  /* the same, and MPIX_GDS_REQUIRE leaves out host */
    PROGRAM_CUT,  /* at any time the ranks cannot reach each other any more, as
                     each of them hears for itself */
    PROGRAM_DIES, /* at any time the second rank's calls and streams stop; when
                     all is over at the first, they go on as with CUT */
    PROGRAM_WORDLESS, /* CUT, without words that could keep one wait alone from
                         standing for ever */
    PROGRAM_TIMED,    /* MPIX_GDS_TIMEOUT is 1 s, and at any time a caller, a
                         rank's streams or the wire pause for longer */
    PROGRAM_DEAF,     /* no kernel that stands serves an order */
    PROGRAM_STALLED   /* nothing is launched beside a stream that stands */
};

struct program {
    const char *name;
    bool pair; /* two ranks, each of its own GPU; else one, its own peer */
    enum program_trouble trouble;
    unsigned char ticks;   /* how often time may pass while all else could
                              happen */
    bool slow;             /* four times as much of it */
    unsigned char gaps;    /* how many events may come between a call and its
                              put on the stream, in all */
    unsigned char refuses; /* imports fail: errno; */
    unsigned char scarce;  /* for whom pinned memory is: HAND_SCARCE_ */
    struct program_op op[PROGRAM_OPS];
    struct program_call call[PROGRAM_CALLERS][PROGRAM_CALLS];
};

/* Those of a set: where nothing goes wrong, and where something does. */
struct program_set {
    const char *name;
    const struct program *program;
    unsigned count;
};
extern const struct program_set program_well, program_troubled;

/* The ranks may hear that they have lost each other, for a reason that begins
 * at some event, by itself. */
bool program_may_lose(const struct program *program);

/* Whether its trouble may be a reason for that error, in a call or of an
 * operation. */
bool program_allows(const struct program *program, int error);

/* Puts the settings that the sizes are of in the environment, and those of the
 * program's trouble. Before the engine is opened first. */
void program_settings(const struct program *program);

#endif
