/* All kernels of the library, one unit: nvcc makes the fatbin of it, the host
 * compiler the table that the software GPU finds them in. */
#include "device/kernels/copies.h"
#include "device/kernels/copy.h"
#include "device/kernels/exchange.h"
#include "device/kernels/flag.h"
#include "device/kernels/pack.h"
#include "device/kernels/post.h"
#include "device/kernels/pull.h"
#include "device/kernels/read.h"
#include "device/kernels/ring.h"
#include "device/kernels/takes.h"

#if !MGDS_ON_GPU

struct mgds_mem_window mgds_mem_window;

static const struct mgds_kernel kernels[] = {
    MGDS_KERNEL_ROW(mgds_await_kernel, struct mgds_await_args),
    MGDS_KERNEL_ROW(mgds_copies_kernel, struct mgds_copies_args),
    MGDS_KERNEL_ROW(mgds_copy_kernel, struct mgds_copy_args),
    MGDS_KERNEL_ROW(mgds_exchange_kernel, struct mgds_exchange_args),
    MGDS_KERNEL_ROW(mgds_few_awaits_kernel, struct mgds_few_awaits_args),
    MGDS_KERNEL_ROW(mgds_few_exchange_kernel, struct mgds_few_exchange_args),
    MGDS_KERNEL_ROW(mgds_few_takes_kernel, struct mgds_few_takes_args),
    MGDS_KERNEL_ROW(mgds_flag_kernel, struct mgds_flag_args),
    MGDS_KERNEL_ROW(mgds_pack_kernel, struct mgds_pack_args),
    MGDS_KERNEL_ROW(mgds_post_kernel, struct mgds_post_args),
    MGDS_KERNEL_ROW(mgds_pull_kernel, struct mgds_pull_args),
    MGDS_KERNEL_ROW(mgds_push_kernel, struct mgds_push_args),
    MGDS_KERNEL_ROW(mgds_read_kernel, struct mgds_read_args),
    MGDS_KERNEL_ROW(mgds_take_kernel, struct mgds_take_args),
    MGDS_KERNEL_ROW(mgds_tell_kernel, struct mgds_tell_args),
    MGDS_KERNEL_ROW(mgds_takes_kernel, struct mgds_takes_args),
};

#include "device/kernels.h"

const struct mgds_kernel_table mgds_host_kernels = {
    MGDS_KERNEL_ABI,
    sizeof(kernels) / sizeof(kernels[0]),
    &mgds_mem_window,
    kernels,
};

#endif
