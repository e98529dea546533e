/* How the bytes of a bounce get from one side to the other: few spans by driver
 * copies, all else by one kernel, or piece by piece if that cannot be. */
#ifndef MGDS_MEM_TRANSFER_H
#define MGDS_MEM_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/gds/mem/bounce_state.h"

/* The way of a bounce whose user, layout, ptr and queue are set, in memory the
 * GPU can reach or not. */
enum mgds_way mgds_transfer_way(const struct mgds_bounce *bounce, bool pinned);

/* All of it in the one allocation that was looked at: a kernel that touched
 * anything else would break the program's context. */
bool mgds_transfer_inside(const struct mgds_bounce *bounce);

/* Queues the packed bytes, which the layout has. The bounce's context is
 * current. *queued: something is under way, also if the rest failed. -EFAULT:
 * the driver does not know the memory. */
int mgds_transfer_queue(struct mgds_bounce *bounce, bool up, size_t first,
                        size_t bytes, bool *queued);

#endif
