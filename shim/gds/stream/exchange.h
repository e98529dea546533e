/* Messages that follow each other in a list of commands in one launch: sends,
 * takes and awaits, of which none waits for another (device/abi.h). */
#ifndef MGDS_STREAM_EXCHANGE_H
#define MGDS_STREAM_EXCHANGE_H

#include "shim/gds/stream/commands.h"

/* The commands of a launch, in their order. */
struct mgds_exchange_run {
    unsigned sends;
    bool flag; /* behind the sends: they, and what is ahead, were reached */
    unsigned takes, awaits;
    bool end; /* a FLAG behind all */
};

/* How many of the first commands are one launch, and which: at least two
 * messages, with the FLAG behind the sends and the one at the end; else 0. */
unsigned mgds_exchange_find(struct mgds_exchange_run *out,
                            const struct mgds_commands_to *to,
                            const struct mgds_command *commands,
                            unsigned count);

/* Queues them; sets put of each that is queued. 0, -EFAULT if the memory of a
 * TAKE is gone (it throws its message away), or another error: none is queued.
 */
int mgds_exchange_queue(const struct mgds_commands_to *to,
                        struct mgds_command *commands,
                        const struct mgds_exchange_run *run);

#endif
