/* Interleaves what is compared, so that a slow minute hits all alike. */
#include "osu-extensions/rounds.h"

#include <string.h>

#include "osu-extensions/stats.h"
#include "osu-extensions/tracks.h"

struct rounds {
    struct mgds_bench_end *end;
    const struct mgds_bench_options *options;
    const struct mgds_bench_plan *plan;
    int number; /* of the row */
    struct mgds_bench_row rows[MGDS_BENCH_TRACKS_MAX][MGDS_BENCH_ROUNDS_MAX];
};

/* An empty message is nothing to rivals. */
static bool measured(const struct rounds *r, int track)
{
    return track == 0 || (r->end->tracks[track].lane && r->plan->size > 0);
}

static int round_run(struct rounds *r, int round)
{
    int tracks = r->end->tracks_count > 0 ? r->end->tracks_count : 1;
    int most = MGDS_BENCH_ROUNDS_MAX * MGDS_BENCH_TRACKS_MAX;
    int rc = 0;

    for (int i = 0; rc == 0 && i < tracks; i++) {
        int track = (i + round) % tracks;
        int number = r->number * most + round * MGDS_BENCH_TRACKS_MAX + track;

        if (!measured(r, track))
            continue;
        if (r->end->tracks_count > 0)
            mgds_bench_tracks_use(r->end, track);
        rc = mgds_bench_row_measure(&r->rows[track][round], r->end, r->options,
                                    r->plan, number);
    }
    return rc;
}

/* The round in the middle; those before it are no larger. */
static const struct mgds_bench_row *middle(const struct rounds *r, int track,
                                           double rounds[])
{
    const struct mgds_bench_row *rows = r->rows[track];
    double sorted[MGDS_BENCH_ROUNDS_MAX];
    size_t count = (size_t)r->options->rounds;
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = rounds[i] = rows[i].value.avg;
    mgds_bench_samples_sort(sorted, count);
    while (rows[at].value.avg != sorted[(count - 1) / 2])
        at++;
    return &rows[at];
}

static bool all_validated(const struct rounds *r, int track)
{
    for (int i = 0; i < r->options->rounds; i++) {
        if (!r->rows[track][i].validated)
            return false;
    }
    return true;
}

static void rival_fill(struct mgds_bench_rival *rival, const struct rounds *r,
                       int track)
{
    const struct mgds_bench_row *row;

    rival->measured = measured(r, track);
    if (!rival->measured)
        return;
    row = middle(r, track, rival->rounds);
    rival->value = row->value;
    rival->process_us = row->process_us;
    rival->validated = all_validated(r, track);
}

int mgds_bench_rounds_measure(struct mgds_bench_row *row,
                              struct mgds_bench_end *end,
                              const struct mgds_bench_options *options,
                              const struct mgds_bench_plan *plan, int number)
{
    static struct rounds r; /* too large for a stack */
    double rounds[MGDS_BENCH_ROUNDS_MAX] = {0};
    int rc = 0;

    r = (struct rounds){end, options, plan, number, {{{0}}}};
    for (int round = 0; rc == 0 && round < options->rounds; round++)
        rc = round_run(&r, round);
    if (end->tracks_count > 0)
        mgds_bench_tracks_use(end, 0);
    if (rc < 0)
        return rc;
    *row = *middle(&r, 0, rounds);
    memcpy(row->rounds, rounds, sizeof(rounds));
    row->rounds_count = options->rounds;
    row->validated = all_validated(&r, 0);
    for (int i = 1; i < end->tracks_count; i++)
        rival_fill(&row->rivals[i - 1], &r, i);
    return 0;
}

double mgds_bench_rounds_ratio(const struct mgds_bench_row *row, int rival)
{
    const struct mgds_bench_rival *other = &row->rivals[rival];

    if (!other->measured || other->value.avg <= 0)
        return 0;
    return row->value.avg / other->value.avg;
}
