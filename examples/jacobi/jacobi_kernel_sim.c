/* The kernel once more, compiled for the host: what the software GPU runs, on
 * machines without a GPU. Real GPUs have no use for it. */
#include <mpix_gds/sim_kernel.h>

static struct mpix_gds_sim_window window;

static void jacobi_step(const struct mpix_gds_sim_self *self,
                        const void *const *params)
{
    double *to = mpix_gds_sim_at(&window, *(double *const *)params[0]);
    const double *from = mpix_gds_sim_at(&window, *(double *const *)params[1]);
    int rows = *(const int *)params[2];
    int columns = *(const int *)params[3];

    for (int row = 1 + (int)self->block; row <= rows;
         row += (int)self->blocks) {
        for (int column = 1 + (int)self->thread; column < columns - 1;
             column += (int)self->threads) {
            int at = row * columns + column;

            to[at] = 0.25 * (from[at - columns] + from[at + columns] +
                             from[at - 1] + from[at + 1]);
        }
    }
}

static const struct mpix_gds_sim_kernel kernels[] = {
    {"jacobi_step",
     jacobi_step,
     {sizeof(double *), sizeof(const double *), sizeof(int), sizeof(int)}},
};

extern const struct mpix_gds_sim_table mgds_host_kernels;
const struct mpix_gds_sim_table mgds_host_kernels = {MPIX_GDS_SIM_KERNEL_ABI, 1,
                                                     &window, kernels};
