/* Which ways are here, agreed by all ranks; their lanes and buffers. */
#include "osu-extensions/tracks.h"

#include <stdio.h>
#include <string.h>

#include "osu-extensions/queue.h"
#include "osu-extensions/way.h"

static int ranks_of(const struct mgds_bench_end *end)
{
    return end->program->collective ? end->pairs : 2 * end->pairs;
}

/* The reason of the lowest rank that failed, on rank 0. True: none did. */
static bool all_well(const struct mgds_bench_end *end, int rc,
                     struct mgds_bench_track *track)
{
    char why[sizeof(track->why)];
    int mine = rc < 0 ? end->rank : ranks_of(end);
    int worst;

    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MIN, end->comm);
    if (worst == ranks_of(end))
        return true;
    memcpy(why, track->why, sizeof(why));
    MPI_Bcast(why, sizeof(why), MPI_CHAR, worst, end->comm);
    snprintf(track->why, sizeof(track->why), "rank %d: %.230s", worst,
             why[0] ? why : "out of memory");
    return false;
}

static size_t heap_of(const struct mgds_bench_need *need)
{
    return need->send_bytes + need->recv_bytes + need->laps * sizeof(uint64_t);
}

static int lane_open(struct mgds_bench_end *end, struct mgds_bench_track *track,
                     const struct mgds_bench_need *need)
{
    struct mgds_bench_site site = {
        .comm = end->comm,
        .rank = end->rank,
        .ranks = ranks_of(end),
        .peer = end->peer,
        .stream = mgds_bench_queue_stream(end->queue),
        .heap = heap_of(need),
        .recv = &end->recv,
        .answer = &end->answer,
    };
    struct mgds_bench_lane *lane = NULL;
    int rc = track->way->open(&lane, &site, track->why);

    track->lane = lane;
    if (all_well(end, rc, track))
        return 0;
    if (rc == 0)
        track->way->close(lane);
    track->lane = NULL;
    return -1;
}

static void lane_close(struct mgds_bench_track *track)
{
    track->way->close(track->lane);
    track->lane = NULL;
}

static void buffers_fini(struct mgds_bench_track *track)
{
    struct mgds_bench_buffer *all[] = {&track->send, &track->recv,
                                       &track->answer};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i]->at)
            mgds_bench_buffer_fini(all[i]);
        all[i]->at = NULL;
    }
}

/* All ranks ask for the same, as symmetric memory must be. */
static int buffers_init(struct mgds_bench_end *end,
                        struct mgds_bench_track *track,
                        const struct mgds_bench_need *need)
{
    const struct mgds_bench_memory *memory = track->way->memory;
    int rc = mgds_bench_buffer_init(&track->send, memory, need->send_bytes);
    int more = mgds_bench_buffer_init(&track->recv, memory, need->recv_bytes);

    rc = rc < 0 ? rc : more;
    more = mgds_bench_buffer_init(&track->answer, memory,
                                  need->laps * sizeof(uint64_t));
    rc = rc < 0 ? rc : more;
    if (rc < 0)
        snprintf(track->why, sizeof(track->why),
                 "no memory for buffers of %zu bytes: lower -m or -W",
                 heap_of(need));
    if (all_well(end, rc, track))
        return 0;
    buffers_fini(track);
    return -1;
}

/* Why a rival makes no sense in this run, or NULL. */
static const char *unfit(const struct mgds_bench_end *end,
                         const struct mgds_bench_options *options,
                         const struct mgds_bench_way *way)
{
    if (way->windows_only && end->program->traffic == MGDS_BENCH_BOTH_SEND &&
        !strchr(end->program->spec.letters, 'W'))
        return "copies know no order between streams; see the programs with "
               "windows";
    if (options->kind[0] != MGDS_BENCH_DEVICE ||
        options->kind[1] != MGDS_BENCH_DEVICE)
        return "it takes device memory: give D D";
    return NULL;
}

static void rival_open(struct mgds_bench_end *end,
                       const struct mgds_bench_options *options,
                       const struct mgds_bench_need *need,
                       const struct mgds_bench_way *way)
{
    struct mgds_bench_track *track = &end->tracks[end->tracks_count];
    const char *reason =
        end->program->collective ? NULL : unfit(end, options, way);
    int rc;

    if (reason && options->rivals_auto)
        return;
    track->way = way;
    end->tracks_count++;
    if (reason) {
        snprintf(track->why, sizeof(track->why), "%s", reason);
        return;
    }
    rc = way->find(options, track->why);
    if (!all_well(end, rc, track) || lane_open(end, track, need) < 0)
        return;
    if (way->memory && buffers_init(end, track, need) < 0) {
        lane_close(track);
        return;
    }
    if (way->version)
        way->version(track->version);
}

int mgds_bench_tracks_open(struct mgds_bench_end *end,
                           const struct mgds_bench_options *options,
                           const struct mgds_bench_need *need)
{
    struct mgds_bench_track *track = &end->tracks[0];
    int rc = mgds_bench_queue_create(&end->queue);
    int worst;

    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, end->comm);
    if (worst < 0)
        return worst;
    track->way = end->program->ways[0];
    rc = lane_open(end, track, need);
    if (rc < 0)
        return rc;
    end->tracks_count = 1;
    track->send = end->send;
    track->recv = end->recv;
    track->answer = end->answer;
    for (size_t i = 1; end->program->ways[i]; i++) {
        if (options->rivals & end->program->ways[i]->rival)
            rival_open(end, options, need, end->program->ways[i]);
    }
    mgds_bench_tracks_use(end, 0);
    return 0;
}

void mgds_bench_tracks_close(struct mgds_bench_end *end)
{
    if (end->tracks_count > 0)
        mgds_bench_tracks_use(end, 0);
    for (int i = end->tracks_count - 1; i >= 0; i--) {
        struct mgds_bench_track *track = &end->tracks[i];

        if (track->way->memory)
            buffers_fini(track);
        if (track->lane)
            lane_close(track);
    }
    if (end->queue)
        mgds_bench_queue_destroy(end->queue);
}

void mgds_bench_tracks_use(struct mgds_bench_end *end, int track)
{
    const struct mgds_bench_track *used = &end->tracks[track];
    const struct mgds_bench_track *from =
        used->way->memory ? used : &end->tracks[0];

    end->way = used->way;
    end->lane = used->lane;
    end->send = from->send;
    end->recv = from->recv;
    end->answer = from->answer;
}
