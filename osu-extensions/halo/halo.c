/* The rank: grid, memory, stream, size of faces. */
#include "osu-extensions/halo/halo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "osu-extensions/gpu.h"
#include "osu-extensions/queue.h"

#define CALIBRATION_TICKS 2000000u
#define CALIBRATION_RUNS 5

char *mgds_halo_out(const struct mgds_halo *h, int f)
{
    if (h->args.strided >> f & 1)
        return h->packed_out.at + (size_t)f * h->bytes;
    return h->field.at + h->args.edge[f].at * sizeof(uint64_t);
}

char *mgds_halo_in(const struct mgds_halo *h, int f)
{
    if (h->args.strided >> f & 1)
        return h->packed_in.at + (size_t)f * h->bytes;
    return h->field.at + h->args.ghost[f].at * sizeof(uint64_t);
}

void mgds_halo_must(const struct mgds_halo *h, int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "osu_halo_enqueue: rank %d: %s: %s\n", h->world.rank, what,
            strerror(-rc));
    MPI_Abort(h->world.comm, 1);
}

/* Ranks keep their numbers: the last dimension's neighbours are next to each
 * other. */
static void grid_make(struct mgds_halo *h,
                      const struct mgds_halo_options *options)
{
    int periods[MGDS_HALO_DIMS] = {options->periodic, options->periodic,
                                   options->periodic};
    MPI_Comm grid;

    MPI_Dims_create(h->world.ranks, options->dims, h->grid);
    MPI_Cart_create(h->world.comm, options->dims, h->grid, periods, 0, &grid);
    for (int d = 0; d < options->dims; d++) {
        int *lower = &h->neighbour[2 * (size_t)d];

        MPI_Cart_shift(grid, d, 1, lower, lower + 1);
    }
    MPI_Comm_free(&grid);
    for (int f = 0; f < 2 * options->dims; f++) {
        if (h->neighbour[f] != MPI_PROC_NULL)
            h->neighbours |= 1u << f;
    }
}

/* The largest field is that of the largest faces: cells only become fewer when
 * faces get shorter. */
static int memory_take(struct mgds_halo *h,
                       const struct mgds_halo_options *options, char why[256])
{
    size_t packed = MGDS_HALO_FACES * options->max_size;
    size_t field = 0;
    int rc;

    for (size_t bytes = options->min_size; bytes <= options->max_size;
         bytes *= 2) {
        if (mgds_halo_shape(&h->args, options->dims, bytes, 0) == 0 &&
            mgds_halo_elements(&h->args) > field)
            field = mgds_halo_elements(&h->args);
    }
    if (field == 0) {
        snprintf(why, 256,
                 "option -m %zu:%zu: no size is a face of a field in %d "
                 "dimensions; give powers of two, 32 at least",
                 options->min_size, options->max_size, options->dims);
        return -EINVAL;
    }
    rc = mgds_bench_buffer_init(&h->field, &mgds_bench_device,
                                field * sizeof(uint64_t));
    if (rc == 0)
        rc = mgds_bench_buffer_init(&h->packed_out, &mgds_bench_device, packed);
    if (rc == 0)
        rc = mgds_bench_buffer_init(&h->packed_in, &mgds_bench_device, packed);
    if (rc < 0)
        snprintf(why, 256,
                 "no memory for a field of %zu bytes: lower -m or --dims",
                 field * sizeof(uint64_t));
    return rc;
}

static int time_once(struct mgds_halo *h, const struct mgds_halo_args *args,
                     double *us)
{
    double seconds = 0;
    int rc = mgds_bench_queue_begin(h->queue);

    if (rc == 0)
        rc = mgds_halo_launch(h->launcher, MGDS_HALO_STEP, args);
    if (rc == 0)
        rc = mgds_bench_queue_end(h->queue);
    if (rc == 0)
        rc = mgds_bench_queue_rest(h->queue);
    if (rc == 0)
        rc = mgds_bench_queue_seconds(h->queue, &seconds);
    *us = seconds * 1e6;
    return rc;
}

int mgds_halo_time(struct mgds_halo *h, const struct mgds_halo_args *args,
                   int runs, double *us)
{
    int rc = time_once(h, args, us);

    for (int i = 1; rc == 0 && i < runs; i++) {
        double next;

        rc = time_once(h, args, &next);
        *us = next < *us ? next : *us;
    }
    return rc;
}

/* How fast the clock of the kernels is. */
static int calibrate(struct mgds_halo *h)
{
    struct mgds_halo_args idle = {.ticks = CALIBRATION_TICKS};
    double us;
    int rc = mgds_halo_time(h, &idle, CALIBRATION_RUNS, &us);

    if (rc == 0 && us > 0)
        h->ticks_per_us = CALIBRATION_TICKS / us;
    return rc;
}

int mgds_halo_init(struct mgds_halo *h, const struct mgds_halo_options *options,
                   char why[256])
{
    int rc;

    grid_make(h, options);
    rc = mgds_bench_gpu_open(options->gpu,
                             mgds_bench_world_local_rank(&h->world), why);
    if (rc < 0)
        return rc;
    rc = mgds_bench_queue_create(&h->queue);
    if (rc < 0) {
        snprintf(why, 256, "no stream: %s", strerror(-rc));
        return rc;
    }
    h->stream = mgds_bench_queue_stream(h->queue);
    rc = mgds_halo_launcher_create(&h->launcher, h->stream, why);
    if (rc < 0)
        return rc;
    rc = calibrate(h);
    if (rc < 0) {
        snprintf(why, 256, "a kernel of the benchmark does not run: %s",
                 strerror(-rc));
        return rc;
    }
    return memory_take(h, options, why);
}

void mgds_halo_fini(struct mgds_halo *h)
{
    struct mgds_bench_buffer *all[] = {&h->packed_in, &h->packed_out,
                                       &h->field};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i]->at)
            mgds_bench_buffer_fini(all[i]);
    }
    if (h->launcher)
        mgds_halo_launcher_destroy(h->launcher);
    if (h->queue)
        mgds_bench_queue_destroy(h->queue);
}

int mgds_halo_size(struct mgds_halo *h, const struct mgds_halo_options *options,
                   size_t bytes)
{
    int rc = mgds_halo_shape(&h->args, options->dims, bytes, h->neighbours);

    if (rc < 0)
        return rc;
    h->args.field = (uint64_t)(uintptr_t)h->field.at;
    h->args.ticks = (uint64_t)((double)options->kernel_us * h->ticks_per_us);
    h->bytes = bytes;
    return 0;
}
