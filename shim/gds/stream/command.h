/* What a command alone says of how it is put on a stream; for commands.c,
 * batch.c and exchange.c. */
#ifndef MGDS_STREAM_COMMAND_H
#define MGDS_STREAM_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "device/abi.h"
#include "shim/gds/stream/gstream.h"

/* The least threads that a launch has: a warp. */
enum { MGDS_COMMAND_WARP = 32 };

/* How many threads and blocks a message gets. */
struct mgds_command_shape {
    unsigned blocks, threads;
};

/* So many words of 8 bytes a thread, as far as that goes: both are powers of
 * two. */
struct mgds_command_shape
mgds_command_shape(size_t bytes, struct mgds_command_shape most, unsigned each);

/* The arguments of a POST and the flag behind it. */
struct mgds_post_args mgds_command_post(const struct mgds_command *post,
                                        const struct mgds_command *flag);

/* Is it a TAKE that only the kernel for long messages can do? */
bool mgds_command_is_long(const struct mgds_command *command);

/* How long a TAKE's message is; until that is told, how long it may be. */
size_t mgds_command_length(const struct mgds_command *take);

/* -EFAULT: the program has freed the memory that a TAKE is for, so its message
 * is to be thrown away. */
int mgds_command_check(const struct mgds_command *take);

#endif
