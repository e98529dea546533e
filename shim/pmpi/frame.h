/*
 * One intercepted call, from its entry to its return.
 *
 * An entry jumps through the *shortcut* of its function and does nothing else.
 * At first that leads the long way, here: a frame marks the thread as being
 * inside us, so that the calls that the library below, or a tool stacked
 * between, makes through our symbols meanwhile are forwarded and nothing more.
 * Once forwarding is all there is to do with a function (no body of ours is in
 * use, and calls are neither counted nor traced), the long way makes the
 * shortcut lead straight to the definition further down. When CUDA appears, or
 * the first stream communicator, the functions with a body for GPU memory, or
 * for those, are led the long way again. That makes their shortcuts lead the
 * *own way*: to their bodies, which will be in use for good, with nothing to
 * be asked any more but whether the call is nested. Calls that most often have
 * nothing to do with us have a way before it (plain.h).
 */
#ifndef MGDS_PMPI_FRAME_H
#define MGDS_PMPI_FRAME_H

#include <stdbool.h>

#include "shim/pmpi/calls.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/pulling.h"
#include "shim/pmpi/seen.h"
#include "shim/pmpi/words.h"

struct mgds_frame {
    uintptr_t stack; /* where the stack stood: set before enter */
    enum mgds_call call;
    bool outermost;        /* a call of the application's own */
    struct mgds_seen seen; /* if calls are watched */
};

/* The outermost call that the thread is in; kept apart from its frame, because
   an abandoned frame is no memory of ours any more. */
struct mgds_inside {
    uintptr_t stack; /* 0: in none */
    enum mgds_call call;
    enum mgds_face face;
};
extern _Thread_local struct mgds_inside mgds_inside
    __attribute__((visibility("hidden")));

/*
 * Is a call, with the stack as it is, made from inside another? One that a
 * longjmp or an exception left, out of an error handler, is over: the stack
 * stands higher again, or as high but for the arguments on it. (A later call
 * from deeper down than the one that was left is still taken for a nested one.)
 */
static inline bool mgds_frame_is_nested(uintptr_t stack)
{
    enum { STACK_ARGUMENTS = 8 * sizeof(mgds_word) };

    return stack + STACK_ARGUMENTS < mgds_inside.stack;
}

/* An outermost call begins, and ends with its result; then no pull is under
 * way that it has begun. */
static inline void mgds_frame_begin(uintptr_t stack, enum mgds_call call,
                                    enum mgds_face face)
{
    mgds_inside.stack = stack;
    mgds_inside.call = call;
    mgds_inside.face = face;
}

static inline mgds_word mgds_frame_end(mgds_word result)
{
    if (__builtin_expect(mgds_pulling_any(), 0))
        result = mgds_pulling_end(result);
    mgds_inside.stack = 0;
    return result;
}

/* Never NULL. Read by every entry; written with release stores. Hidden by name,
   so that an entry reaches it without the global offset table. */
extern mgds_next_fn *mgds_shortcuts[MGDS_CALLS][MGDS_FACES]
    __attribute__((visibility("hidden")));

/* Where every shortcut leads at first. */
extern mgds_next_fn *const mgds_long_ways[MGDS_CALLS][MGDS_FACES];

/* NULL for functions that have no body of ours, or are no matter of speed. */
extern mgds_next_fn *const mgds_own_ways[MGDS_CALLS][MGDS_FACES];

/* Leads the functions with a body for GPU memory the long way: CUDA has been
   seen, and mgds_presence_cuda says so already. Any thread. */
void mgds_frame_close_shortcuts(void);

/* The same for bodies that serve stream communicators; mgds_scomms_used says
   yes already. */
void mgds_frame_close_for_streams(void);

/* For the function whose call the frame stands for. */
#define MGDS_FRAME_HERE                                                        \
    {                                                                          \
        .stack = (uintptr_t)__builtin_frame_address(0)                         \
    }

/*
 * Starts the long way: fills the frame and returns the function to call with
 * the unchanged words: our own body for an outermost call that has one, else
 * the definition further down.
 */
mgds_next_fn *mgds_frame_enter(struct mgds_frame *frame, enum mgds_call call,
                               enum mgds_face face);

/* Ends it; returns the result, so that an entry can return that. */
mgds_word mgds_frame_leave(struct mgds_frame *frame, mgds_word result);

/*
 * Around what the program does inside a call of ours, that is its error
 * handlers: calls that it makes there are its own, not nested ones. Step in
 * again with what step out gave, unless it never comes back.
 */
struct mgds_inside mgds_frame_step_out(void);
void mgds_frame_step_in(const struct mgds_inside *kept);

/* The definition that the thread's outermost call stands before. Only inside
   an own body. */
static inline mgds_next_fn *mgds_frame_next(void)
{
    return mgds_next(mgds_inside.call, mgds_inside.face);
}

/* An own body's way down, with the face its caller used. */
#define MGDS_FORWARD(n) ((MGDS_FN(n) *)mgds_frame_next())

#endif
