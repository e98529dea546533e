/* What was posted on the wire of tests/unit/fake_wire.h comes to who it is for,
 * in this process: each peer is a communicator of ours, by its rank. Any post
 * may come before any other. One that the sender wants to hear of has parts:
 *
 *   HEAD   its head comes
 *   READ   the wire has read its body, and says so to the sender
 *   LAND   the body is where the receiver wanted it; behind both
 */
#ifndef MGDS_TEST_LOOP_WIRE_H
#define MGDS_TEST_LOOP_WIRE_H

#include "tests/unit/fake_wire.h"

enum loop_part { LOOP_HEAD, LOOP_READ, LOOP_LAND };

/* What may happen to a post now: a bit for each part. */
unsigned loop_parts(const struct wire_post *post);

/* The id of the communicator of each rank; 0: none, its posts stay. */
extern uint64_t loop_comm[WIRE_PEERS];

/* Lets it happen. The post goes with its last part. */
void loop_do(struct wire_post *post, enum loop_part part);

/* A rank hears that it has lost the other, or itself: what it had posted and
 * was not read has failed, what was to come to it does not, and what it posts
 * from now on fails when loop_fail is called. */
void loop_lose(unsigned rank, unsigned other);
void loop_fail(void);

/* "RTS", constant. */
const char *loop_name(const struct wire_post *post);

#endif
