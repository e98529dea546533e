/* No code: compiling it compares the header for programs' kernels on the
 * software GPU with what the software GPU goes by. */
#include <assert.h>
#include <mpix_gds/sim_kernel.h>

#include "device/impl/kernel.h"

#define SAME_SIZE(theirs, ours)                                                \
    static_assert(sizeof(struct theirs) == sizeof(struct ours), #theirs)
#define SAME(theirs, ours, field)                                              \
    static_assert(offsetof(struct theirs, field) ==                            \
                      offsetof(struct ours, field),                            \
                  #theirs "." #field)

static_assert(MPIX_GDS_SIM_KERNEL_ABI == MGDS_KERNEL_ABI, "abi");
SAME_SIZE(mpix_gds_sim_self, mgds_self);
SAME(mpix_gds_sim_self, mgds_self, thread);
SAME(mpix_gds_sim_self, mgds_self, threads);
SAME(mpix_gds_sim_self, mgds_self, block);
SAME(mpix_gds_sim_self, mgds_self, blocks);
SAME(mpix_gds_sim_self, mgds_self, calls);
SAME(mpix_gds_sim_self, mgds_self, host);
SAME_SIZE(mpix_gds_sim_kernel, mgds_kernel);
SAME(mpix_gds_sim_kernel, mgds_kernel, name);
SAME(mpix_gds_sim_kernel, mgds_kernel, run);
SAME(mpix_gds_sim_kernel, mgds_kernel, params);
SAME_SIZE(mpix_gds_sim_window, mgds_mem_window);
SAME(mpix_gds_sim_window, mgds_mem_window, base);
SAME(mpix_gds_sim_window, mgds_mem_window, size);
SAME(mpix_gds_sim_window, mgds_mem_window, displacement);
SAME_SIZE(mpix_gds_sim_table, mgds_kernel_table);
SAME(mpix_gds_sim_table, mgds_kernel_table, abi);
SAME(mpix_gds_sim_table, mgds_kernel_table, count);
SAME(mpix_gds_sim_table, mgds_kernel_table, window);
SAME(mpix_gds_sim_table, mgds_kernel_table, kernels);
