/* A line for each variant of each size. */
#include <stdio.h>

#include "osu-extensions/halo/output.h"

#define FACE_WIDTH 10
#define NAME_WIDTH 18
#define WIDTH 14

static double ratio(double figure, double nccl)
{
    return nccl > 0 ? figure / nccl : 0;
}

double mgds_halo_by_nccl(const struct mgds_halo_row *row, int variant)
{
    const struct mgds_halo_outcome *nccl =
        &row->outcomes[mgds_halo_number(&mgds_halo_nccl)];

    return nccl->measured ? ratio(row->outcomes[variant].step_us, nccl->step_us)
                          : 0;
}

double mgds_halo_call_by_nccl(const struct mgds_halo_row *row, int variant)
{
    int nccl = mgds_halo_number(&mgds_halo_nccl);

    return row->outcomes[nccl].measured ? ratio(mgds_halo_call_us(row, variant),
                                                mgds_halo_call_us(row, nccl))
                                        : 0;
}

/* "2 x 2 ranks, periodic" */
static void grid_print(const struct mgds_halo *h,
                       const struct mgds_halo_options *o)
{
    fputs("# Grid ", stdout);
    for (int d = 0; d < o->dims; d++)
        printf("%s%d", d > 0 ? " x " : "", h->grid[d]);
    printf(" ranks%s, kernel of %zu us, medians of %d rounds\n",
           o->periodic ? ", periodic" : "", o->kernel_us, o->rounds);
}

static void left_out_print(const struct mgds_halo_track *track)
{
    printf("# %s left out: %s\n", track->variant->title, track->why);
}

void mgds_halo_print_header(const struct mgds_halo_run *run)
{
    static const char *const columns[] = {"Step(us)",   "Step/NCCL",
                                          "CPU(us)",    "Calls(us)",
                                          "Calls/NCCL", "Validation"};

    puts(MGDS_HALO_TITLE);
    grid_print(run->halo, run->options);
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        const struct mgds_halo_track *track = &run->tracks[i];

        if (!track->version[0])
            continue;
        printf("# NCCL %s\n", track->version);
        break; /* NCCL's variants all have this one */
    }
    printf("%-*s%-*s", FACE_WIDTH, "# Face", NAME_WIDTH, "Variant");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        printf("%*s", WIDTH, columns[i]);
    putchar('\n');
    fflush(stdout);
}

static void ratio_print(double value)
{
    if (value > 0)
        printf("%*.2f", WIDTH, value);
    else
        printf("%*s", WIDTH, "-");
}

void mgds_halo_print_row(const struct mgds_halo_run *run,
                         const struct mgds_halo_row *row)
{
    for (int i = 0; i < MGDS_HALO_VARIANTS && run->rows == 1; i++) {
        if (run->tracks[i].chosen && !run->tracks[i].here)
            left_out_print(&run->tracks[i]);
    }
    printf("# %zu bytes: the kernel alone takes %.2f us\n", row->size,
           row->kernel_us);
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        const struct mgds_halo_outcome *outcome = &row->outcomes[i];

        if (!outcome->measured)
            continue;
        printf("%-*zu%-*s%*.2f", FACE_WIDTH, row->size, NAME_WIDTH,
               mgds_halo_variants[i]->name, WIDTH, outcome->step_us);
        ratio_print(mgds_halo_by_nccl(row, i));
        printf("%*.2f%*.2f", WIDTH, outcome->cpu_us, WIDTH,
               mgds_halo_call_us(row, i));
        ratio_print(mgds_halo_call_by_nccl(row, i));
        printf("%*s\n", WIDTH, outcome->validated ? "Pass" : "Fail");
    }
    fflush(stdout);
}
