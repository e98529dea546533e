/*
 * Variants in turn, in rounds, so that a slow minute hits all alike. Each
 * starts from the same field, and ends at what the reference says.
 */
#include "osu-extensions/halo/measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "osu-extensions/halo/check.h"
#include "osu-extensions/queue.h"
#include "osu-extensions/stats.h"

/* CPU time is taken in bursts that no launch queue is too short for: a call
 * that waits for room there would burn time that is nobody's cost. */
#define BURSTS 8
#define BURST_STEPS 16
#define KERNEL_RUNS 10

/* A variant that is open for a size. */
struct lane {
    struct mgds_halo_lane *lane;
    struct mgds_halo_graph *graph;
    double steps[MGDS_HALO_ROUNDS_MAX];
    double cpu[MGDS_HALO_ROUNDS_MAX];
};

int mgds_halo_number(const struct mgds_halo_variant *variant)
{
    int i = 0;

    while (mgds_halo_variants[i] != variant)
        i++;
    return i;
}

static double cpu_of_thread(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void launch(struct mgds_halo *h, enum mgds_halo_kernel which)
{
    mgds_halo_must(h, mgds_halo_launch(h->launcher, which, &h->args),
                   "cuLaunchKernel");
}

static void step_put(struct mgds_halo *h,
                     const struct mgds_halo_variant *variant,
                     struct mgds_halo_lane *lane)
{
    launch(h, MGDS_HALO_STEP);
    if (h->args.strided) {
        h->args.packed = (uint64_t)(uintptr_t)h->packed_out.at;
        launch(h, MGDS_HALO_PACK);
    }
    variant->exchange(lane, h);
    if (h->args.strided) {
        h->args.packed = (uint64_t)(uintptr_t)h->packed_in.at;
        launch(h, MGDS_HALO_UNPACK);
    }
}

static void steps_put(struct mgds_halo *h,
                      const struct mgds_halo_variant *variant,
                      const struct lane *lane, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        if (lane->graph)
            mgds_halo_must(h, mgds_halo_graph_launch(h->launcher, lane->graph),
                           "cuGraphLaunch");
        else
            step_put(h, variant, lane->lane);
    }
}

/* All ranks are through; what came without order is there, too. */
static void all_wait(struct mgds_halo *h)
{
    mgds_halo_must(h, mgds_bench_queue_wait(h->queue), "the stream");
    MPI_Barrier(h->world.comm);
}

static double largest(const struct mgds_halo *h, double value)
{
    double most;

    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, h->world.comm);
    return most;
}

/* Microseconds a step, back to back. */
static double time_steps(struct mgds_halo *h,
                         const struct mgds_halo_variant *variant,
                         const struct lane *lane, size_t steps)
{
    double begin, end;

    MPI_Barrier(h->world.comm);
    begin = MPI_Wtime();
    steps_put(h, variant, lane, steps);
    mgds_halo_must(h, mgds_bench_queue_wait(h->queue), "the stream");
    end = MPI_Wtime();
    MPI_Barrier(h->world.comm);
    return largest(h, (end - begin) * 1e6 / (double)steps);
}

static double time_calls(struct mgds_halo *h,
                         const struct mgds_halo_variant *variant,
                         const struct lane *lane)
{
    double spent = 0;

    for (int i = 0; i < BURSTS; i++) {
        spent -= cpu_of_thread();
        steps_put(h, variant, lane, BURST_STEPS);
        spent += cpu_of_thread();
        all_wait(h);
    }
    return largest(h, spent * 1e6 / (BURSTS * BURST_STEPS));
}

static size_t steps_of(const struct mgds_halo_options *options)
{
    return options->warmup + options->steps + (size_t)BURSTS * BURST_STEPS;
}

static void round_run(struct mgds_halo_run *run, int number, struct lane *lane,
                      int round, struct mgds_halo_outcome *outcome,
                      const struct mgds_halo_truth *truth)
{
    const struct mgds_halo_variant *variant = mgds_halo_variants[number];
    struct mgds_halo *h = run->halo;

    mgds_halo_must(h, mgds_halo_reset(h, run->rows), "the field");
    MPI_Barrier(h->world.comm);
    steps_put(h, variant, lane, run->options->warmup);
    all_wait(h);
    lane->steps[round] = time_steps(h, variant, lane, run->options->steps);
    lane->cpu[round] = time_calls(h, variant, lane);
    if (mgds_halo_wrong(h, variant, truth))
        outcome->validated = false;
}

/* NCCL connects when it first sends: not while a graph is made. */
static int graph_make(struct mgds_halo *h,
                      const struct mgds_halo_variant *variant,
                      struct lane *lane, char why[256])
{
    int rc;

    step_put(h, variant, lane->lane);
    all_wait(h);
    rc = mgds_halo_graph_begin(h->launcher, why);
    if (rc < 0)
        return rc;
    step_put(h, variant, lane->lane);
    return mgds_halo_graph_end(h->launcher, &lane->graph, why);
}

static bool open_one(struct mgds_halo_run *run, int number, struct lane *lane)
{
    const struct mgds_halo_variant *variant = mgds_halo_variants[number];
    struct mgds_halo_track *track = &run->tracks[number];
    struct mgds_halo *h = run->halo;
    int rc = variant->open(&lane->lane, h, track->why);
    bool mine = rc == 0;

    if (mgds_bench_world_worst(&h->world, rc, track->why) < 0 && variant->graph)
        rc = graph_make(h, variant, lane, track->why);
    if (mgds_bench_world_worst(&h->world, rc, track->why) < 0)
        return true;
    mgds_halo_graph_destroy(lane->graph);
    if (mine)
        variant->close(lane->lane);
    return false;
}

static void close_one(int number, struct lane *lane)
{
    mgds_halo_graph_destroy(lane->graph);
    mgds_halo_variants[number]->close(lane->lane);
}

/* The round in the middle. */
static double median(const double *rounds, int count)
{
    double sorted[MGDS_HALO_ROUNDS_MAX];

    memcpy(sorted, rounds, (size_t)count * sizeof(*rounds));
    mgds_bench_samples_sort(sorted, (size_t)count);
    return sorted[(count - 1) / 2];
}

static void outcome_fill(struct mgds_halo_outcome *outcome,
                         const struct lane *lane, int rounds)
{
    outcome->step_us = median(lane->steps, rounds);
    outcome->cpu_us = median(lane->cpu, rounds);
    memcpy(outcome->rounds, lane->steps, sizeof(outcome->rounds));
}

static double kernel_time(struct mgds_halo *h)
{
    double us;

    mgds_halo_must(h, mgds_halo_time(h, &h->args, KERNEL_RUNS, &us),
                   "a kernel");
    return largest(h, us);
}

void mgds_halo_measure(struct mgds_halo_run *run, struct mgds_halo_row *row)
{
    struct lane lanes[MGDS_HALO_VARIANTS] = {{0}};
    struct mgds_halo *h = run->halo;
    struct mgds_halo_truth truth;
    int rounds = run->options->rounds;

    *row = (struct mgds_halo_row){.size = h->bytes};
    mgds_halo_must(
        h, mgds_halo_truth_init(&truth, h, run->rows, steps_of(run->options)),
        "the reference");
    row->kernel_us = kernel_time(h);
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        if (run->tracks[i].here)
            run->tracks[i].here = open_one(run, i, &lanes[i]);
        row->outcomes[i].measured = run->tracks[i].here;
        row->outcomes[i].validated = true;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
            int number = (i + round) % MGDS_HALO_VARIANTS;

            if (run->tracks[number].here)
                round_run(run, number, &lanes[number], round,
                          &row->outcomes[number], &truth);
        }
    }
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        outcome_fill(&row->outcomes[i], &lanes[i], rounds);
        if (run->tracks[i].here)
            close_one(i, &lanes[i]);
    }
    mgds_halo_truth_fini(&truth);
    run->rows++;
}

double mgds_halo_call_us(const struct mgds_halo_row *row, int variant)
{
    int alone = mgds_halo_number(&mgds_halo_alone);
    double own =
        mgds_halo_variants[variant]->graph ? 0 : row->outcomes[alone].cpu_us;

    return row->outcomes[variant].cpu_us - own;
}

/* A name that is none is left over: the line lists those that are. */
static int names_refuse(const char *names, char why[256])
{
    size_t used = (size_t)snprintf(why, 256,
                                   "option --variants %.60s: give "
                                   "some of ",
                                   names);

    for (int i = 1; i < MGDS_HALO_VARIANTS && used < 256; i++)
        used += (size_t)snprintf(why + used, 256 - used, "%s%s",
                                 i > 1 ? "," : "", mgds_halo_variants[i]->name);
    return -EINVAL;
}

static bool name_take(struct mgds_halo_run *run, const char *name,
                      size_t length)
{
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        const char *known = mgds_halo_variants[i]->name;

        if (strlen(known) != length || strncmp(known, name, length) != 0)
            continue;
        run->tracks[i].chosen = true;
        return true;
    }
    return false;
}

static int names_take(struct mgds_halo_run *run, const char *names,
                      char why[256])
{
    const char *at = names;

    for (;;) {
        size_t length = strcspn(at, ",");

        if (!name_take(run, at, length))
            return names_refuse(names, why);
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

int mgds_halo_run_init(struct mgds_halo_run *run, struct mgds_halo *h,
                       const struct mgds_halo_options *options, char why[256])
{
    int rc = 0;

    memset(run, 0, sizeof(*run));
    run->halo = h;
    run->options = options;
    if (options->variants)
        rc = names_take(run, options->variants, why);
    if (rc < 0)
        return rc;
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        const struct mgds_halo_variant *variant = mgds_halo_variants[i];
        struct mgds_halo_track *track = &run->tracks[i];

        track->variant = variant;
        track->chosen = track->chosen || !options->variants || variant->alone;
        if (!track->chosen)
            continue;
        rc = variant->find ? variant->find(options, track->why) : 0;
        track->here = mgds_bench_world_worst(&h->world, rc, track->why) < 0;
        if (track->here && variant->version)
            variant->version(track->version);
    }
    return 0;
}
