/* Which protocols a send may have: one pure function of what is known at the
 * call. Which of them it gets depends on what can be had then: rget on memory
 * that its receiver has mapped (rget.h), eager on a free slot (channel.h);
 * fragments can always be had. */
#ifndef MGDS_PROTO_SELECT_H
#define MGDS_PROTO_SELECT_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_select_facts {
    uint64_t bytes;
    uint64_t eager_most; /* MPIX_GDS_EAGER */
    uint64_t rget_least; /* MPIX_GDS_PULL; 0: none */
    bool fits; /* enqueued, and kernels of its stream read all of the buffer,
                  in a row */
    bool sync; /* it ends when its receive has begun: the CPU says that */
    bool stands_for_itself; /* its stream stands at it, and is the receive's */
    bool slots;             /* the receiver has a ring for it */
    bool words;             /* and both ends have `done` words */
};

/* A bit (1 << id) for each. */
unsigned mgds_select(const struct mgds_select_facts *facts);

#endif
