/* What a step alone says of how it is put on a stream; for steps.c and
 * batch.c. */
#ifndef MGDS_QUEUE_STEP_H
#define MGDS_QUEUE_STEP_H

#include "device/abi.h"
#include "shim/gds/queue/gstream.h"

/* The arguments of a POST and the flag behind it. */
struct mgds_post_args mgds_step_post(const struct mgds_step *post,
                                     const struct mgds_step *flag);

/* Is it a TAKE that only the kernel for long messages can do? */
bool mgds_step_is_long(const struct mgds_step *step);

#endif
