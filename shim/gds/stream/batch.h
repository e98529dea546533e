/* Commands that go to the GPU together: takes of short messages, waits until
 * the receiver has read long ones, or copies up of dense buffers, that follow
 * each other in a list, as those of a Waitall do. */
#ifndef MGDS_STREAM_BATCH_H
#define MGDS_STREAM_BATCH_H

#include "shim/gds/stream/commands.h"

/* How many of the first commands are one launch: 0, or more than 1, or one
 * AWAIT. Takes and awaits have the flag behind them in it, awaits also the post
 * that is just ahead of them, with its flag. */
unsigned mgds_batch_count(const struct mgds_commands_to *to,
                          const struct mgds_command *commands, unsigned count);

/* Queues so many commands, as the above counted them; sets put of each that is
 * queued. 0, -EFAULT if the memory of some is gone (theirs alone is left out,
 * as mgds_gstream_put says), or another error: none is queued. */
int mgds_batch_queue(const struct mgds_commands_to *to,
                     struct mgds_command *commands, unsigned count);

#endif
