/* Where the wire is fuzzed: a stream communicator of host memory in this
 * process, whose other members exist only as keys and request IDs that were
 * seen. All of the wire is there but UCX and its thread: what is posted is
 * looked at and done, frames come by a call. One thread. */
#ifndef MGDS_TEST_WORLD_H
#define MGDS_TEST_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"
#include "shim/gds/msg/envelope.h"
#include "shim/gds/wire/frame.h"

enum { WORLD_SELF, WORLD_OTHER, WORLD_THIRD, WORLD_RANKS, WORLD_WORKS = 24 };
/* Bytes of the longest message, which is more than a frame holds. */
enum { WORLD_LONG = 70000 };

#define CHECK(x) ((x) ? (void)0 : world_fail(#x, __FILE__, __LINE__))

/* Says which seed it was, and ends the program. */
_Noreturn void world_fail(const char *what, const char *file, int line);

/* The next one of this round's random numbers. */
uint64_t world_draw(uint64_t below);

/* Of an operation that was seen, and its bytes; or any number. */
uint64_t world_request_id(uint64_t *bytes);
/* How long a message is. */
size_t world_bytes(void);
/* Of the next message of a member's, or of a later one. */
uint64_t world_number(unsigned sender);

/* A round: from its seed everything follows but keys and request IDs. */
void world_open(uint64_t seed);
/* All peers are lost, so all operations end; all memory is looked at. */
void world_close(void);

/* Something that a program, or the engine by itself, does: calls, tests,
 * cancels or drops an operation, probes; ends a body that is under way. */
void world_step(void);

/* A frame as a member would seal it. */
struct world_frame {
    struct mgds_wire_frame frame;
    size_t bytes;
    size_t body_bytes;
    bool fetched; /* the body comes with it */
};

/* Mostly well-formed, about what is under way; from a member, or, if any is
 * set, from any process. */
void world_frame_make(struct world_frame *out, bool any);
/* Sealed by a process that has our key, or a key of its own. */
void world_frame_seal(struct world_frame *frame, bool with_our_key);
/* It comes, cut to bytes. */
void world_frame_come(const struct world_frame *frame);

#endif
