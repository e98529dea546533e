/* Between the front of the software ConnectX and the process that copies for
 * it: requests and answers, one of each at a time, over a socket that keeps
 * messages apart. */
#ifndef MGDS_HCA_MOVER_H
#define MGDS_HCA_MOVER_H

#include <stdint.h>

enum { MGDS_MOVER_REGIONS = 4096, MGDS_MOVER_BUS_ID = 16, MGDS_MOVER_IPC = 64 };

enum mgds_mover_what {
    MGDS_MOVER_ADD, /* brings the descriptor of the copy, which it maps */
    MGDS_MOVER_DROP,
    MGDS_MOVER_PULL, /* from the GPU into the copy */
    MGDS_MOVER_PUSH  /* from the copy to the GPU: it is there when answered */
};

struct mgds_mover_request {
    uint32_t what;
    uint32_t region; /* below MGDS_MOVER_REGIONS; the front chooses it */
    uint64_t offset; /* ADD: in the allocation; else in the region */
    uint64_t bytes;
    char bus_id[MGDS_MOVER_BUS_ID]; /* ADD: of the GPU */
    uint8_t ipc[MGDS_MOVER_IPC];    /* ADD: a handle of the allocation */
};

struct mgds_mover_answer {
    int32_t rc; /* 0 or negative errno */
};

#endif
