/* The clock of a device, as libmlx5 reads it. */
#include "sim/hca/front/clock.h"

#include <stdint.h>
#include <time.h>

#include <rdma/mlx5-abi.h>

_Static_assert((int)MGDS_HCA_CLOCK_PAGE ==
                   (MLX5_IB_MMAP_CLOCK_INFO << 8 | MLX5_IB_CLOCK_INFO_V1),
               "where libmlx5 looks for it");

enum { READINGS = 4 };

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A tick is a nanosecond. Of some readings that one counts during which the
 * thread was not kept from its core. */
void mgds_hca_clock_fill(void *page)
{
    struct mlx5_ib_clock_info *info = page;
    uint64_t least = UINT64_MAX, before, after, real;

    *info = (struct mlx5_ib_clock_info){.mult = 1, .mask = UINT64_MAX};
    for (int i = 0; i < READINGS; i++) {
        before = read_clock(CLOCK_MONOTONIC);
        real = read_clock(CLOCK_REALTIME);
        after = read_clock(CLOCK_MONOTONIC);
        if (after - before >= least)
            continue;
        least = after - before;
        info->cycles = before;
        info->nsec = real;
    }
}
