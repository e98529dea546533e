/* Buffers of a program's operations (world.h): what sends have in them, what
 * receives must get, and that nothing else is written. Whoever may use its
 * buffer again, since the operation has ended, stores over it at once. */
#ifndef MGDS_TEST_BUFFERS_H
#define MGDS_TEST_BUFFERS_H

#include "tests/engine/world.h"

/* Of every buffer. */
enum { BUFFER_BYTES = 2 * PROGRAM_LONG + 64 };

void buffers_open(void);

/* The operation's memory and layout. */
void buffer_make(struct world *world, unsigned number);
void buffer_free(struct world_op *op);

/* The operation has ended, as its status says: its program looks whether it has
 * what came, and stores over it. For hand_call, too. */
void buffer_use(void *op);

/* Of a receive, when all is over: its buffer is as its program left it, if it
 * ever did, and nothing behind it was written. */
void buffer_check(const struct world_op *op);

#endif
