/* Arguments of the kernel that posts. */
#ifndef MGDS_TEST_GPU_KERNELS_H
#define MGDS_TEST_GPU_KERNELS_H

#include <stdint.h>

#define POST_BLOCK_WORDS 8

/* post: writes a block of a send queue, then the record, then the register, and
 * waits for the CQE. */
struct post_args {
    uint64_t block; /* where it goes */
    uint64_t record;
    uint64_t uar;
    uint64_t cqe; /* its last eight bytes */
    uint64_t wqe[POST_BLOCK_WORDS];
    uint32_t index; /* behind the WQE, as the record has it */
    uint32_t owner; /* of the CQE */
};

#endif
