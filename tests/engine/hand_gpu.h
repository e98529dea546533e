/*
 * A GPU that is run by hand: stands in for shim/gds/queue (but its orders,
 * quits and claims, which are words and stay real), for the bounces of
 * shim/gds/mem and for the rings, views, exports and imports of
 * shim/gds/ring, so that the engine runs without CUDA.
 *
 * GPU memory is host memory. A stream is a queue of commands, which the test
 * has executed one step at a time: a command that waits has no step until its
 * condition holds, and a TAKE has several, as the kernels do what they do in
 * that order (device/kernels/ring.h, pull.h, help.h). What the engine launches
 * beside a stream goes to the queue of the stream's GPU, one command behind the
 * other.
 *
 * Memory that is given back while a command which names it is in a queue is a
 * fault (hand_fault): so an order of events in which the command came late
 * enough to see other data there need not be run.
 *
 * Any thread: a queue is under its lock, which is not held while a step runs.
 * One thread at a time steps a queue.
 */
#ifndef MGDS_TEST_HAND_GPU_H
#define MGDS_TEST_HAND_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/stream/gstream.h"

enum {
    HAND_GPUS = 2,
    HAND_STREAMS = 4,
    HAND_QUEUES = HAND_STREAMS + HAND_GPUS
};

/* Fresh, and the end: what was not given back is a fault. */
void hand_gpu_open(void);
void hand_gpu_close(void);

/* A stream of a GPU; the caller's reference. Streams have the queues from 0 on,
 * in their order, GPUs those from HAND_STREAMS on. */
struct mgds_gstream *hand_stream(unsigned gpu);

/* GPU memory, as a look at the pointer shows it. */
void hand_memory(struct mgds_ptr *ptr, const void *addr, size_t bytes,
                 unsigned gpu);

/* What the program itself has put on a stream, behind what is there. */
void hand_call(struct mgds_gstream *stream, void (*run)(void *arg), void *arg);

/* What a step of a queue touches: which order of two it has to be known. */
enum hand_touch {
    HAND_NONE,   /* no step can be made now */
    HAND_COPIES, /* PACK, UNPACK, the program: memory of ours, and a buffer */
    HAND_MOVES,  /* PUSH, POST, TAKE, AWAIT: memory that streams share */
    HAND_LOOKS,  /* words that the CPU writes, and memory that streams share */
    HAND_PASSES, /* WAIT: a word of the CPU's, and nothing else */
    HAND_TELLS,  /* words that the CPU reads */
    HAND_GIVES_UP, /* the same, and memory that streams share: it was told not
                      to wait any more */
};

struct hand_next {
    enum hand_touch touch;
    unsigned serial; /* of the command among those of its queue */
    unsigned phase;  /* of the command */
    const char *name;
};

/* The next step of a queue's first command; and of the help that it gives while
 * it stands, to a message that the engine has ordered (stream/order.h). */
struct hand_next hand_next(unsigned queue);
struct hand_next hand_help(unsigned queue);
void hand_step(unsigned queue);
void hand_step_help(unsigned queue);

/* Which steps the queue has made since hand_gpu_open, and how they went on. */
uint64_t hand_trace(unsigned queue);

/* Commands in a queue. */
unsigned hand_left(unsigned queue);

/* For a test that lets other events happen between a call and its put: called
 * without a lock, before the steps of a put are on the stream; or NULL. */
extern void (*hand_on_put)(struct mgds_gstream *stream);

/* For a test with threads: called by who steps the queue, between taking a step
 * off that tells others of itself and telling them; or NULL. */
extern void (*hand_on_tell)(unsigned queue);

/* Kernels that stand say so on their desks: a millisecond has passed. */
void hand_beat(void);

/* Of a serial of a ring: a place comes back. Faults if a command names it. */
void hand_place_back(uint64_t serial);

/* How often bytes were copied to the buffer that begins there, by commands. */
unsigned hand_copies_to(const void *addr);

/* What goes wrong, from hand_gpu_open on. */
struct hand_trouble {
    bool unreadable; /* imports are of no address */
    bool wordless;   /* no line of words is idle (mgds_syncwords_take_idle) */
    bool deaf;       /* no kernel that stands serves an order */
    bool stalled;    /* nothing of ours runs while a stream stands */
};
void hand_trouble(const struct hand_trouble *trouble);

/* Queues, a bit for each, that make no step until they are not named. */
void hand_freeze(unsigned queues);

/* How many waits kernels have given up in this process, one by one; and how
 * many streams the engine has. */
unsigned hand_given_up(void);
unsigned hand_ruined(void);

/* For whom pinned memory is short: bounces that may do without have none;
 * others cannot be made. */
enum { HAND_SCARCE_LATER = 1, HAND_SCARCE_STREAM = 2 };

/* The error of the next imports, 0: none; and for whom memory is short. */
void hand_import_fails(int error);
void hand_pinned_is_short(unsigned of);

/* The first thing that went wrong since hand_gpu_open, or NULL. */
const char *hand_wrong(void);
/* Notes one. */
void hand_fault(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
