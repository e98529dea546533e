/* Batches of collectives: filled, run, checked. */
#include "osu-extensions/collective.h"

#include <string.h>

#include "osu-extensions/queue.h"
#include "osu-extensions/way.h"

/* Behind what is received, and where nothing is. */
#define UNTOUCHED 0x5a

static struct mgds_bench_place place_of(const struct mgds_bench_end *end,
                                        const struct mgds_bench_batch *batch,
                                        size_t lap)
{
    return (struct mgds_bench_place){.batch = batch,
                                     .rank = end->rank,
                                     .ranks = end->pairs,
                                     .lap = lap,
                                     .bytes = batch->plan->layout.data};
}

/* Every byte is another one than what must come. */
static void poison(char *at, size_t bytes, size_t room)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)~at[i];
    memset(at + bytes, UNTOUCHED, room - bytes);
}

int mgds_bench_collective_prepare(struct mgds_bench_end *end,
                                  const struct mgds_bench_batch *batch)
{
    const struct mgds_bench_plan *plan = batch->plan;
    size_t all = batch->laps * plan->recv_step;
    int rc;

    for (size_t lap = 0; lap < batch->laps; lap++) {
        struct mgds_bench_place place = place_of(end, batch, lap);
        char *recv = end->recv.view + lap * plan->recv_step;

        end->program->collective->sent(&place,
                                       end->send.view + lap * plan->send_step);
        poison(recv, end->program->collective->received(&place, recv),
               plan->recv_step);
    }
    rc = mgds_bench_buffer_flush(&end->send, all);
    return rc < 0 ? rc : mgds_bench_buffer_flush(&end->recv, all);
}

/* The host knows that its part is there: when the call returns, or when the
 * stream of a rival has come so far. */
static int call(struct mgds_bench_end *end, const struct mgds_bench_lap *lap)
{
    if (!end->way || end->way->rival == 0) {
        end->program->collective->mpi(lap);
        return 0;
    }
    end->program->collective->nccl(lap);
    return mgds_bench_queue_wait(end->queue);
}

int mgds_bench_collective_run(struct mgds_bench_end *end,
                              const struct mgds_bench_batch *batch,
                              struct mgds_bench_lap *lap)
{
    int rc = 0;

    for (size_t i = 0; i < batch->laps && rc == 0; i++) {
        double start;

        MPI_Barrier(end->comm);
        start = MPI_Wtime();
        rc = call(end, lap);
        end->seconds[i] = MPI_Wtime() - start;
        lap->send += lap->send_step;
        lap->recv += lap->recv_step;
    }
    return rc;
}

/* Which byte is the first that differs from what must be there now; room: none
 * does. */
static size_t compare(const char *want, size_t bytes, const char *got,
                      size_t room)
{
    for (size_t i = 0; i < room; i++) {
        char byte = i < bytes ? want[i] : UNTOUCHED;

        if (got[i] != byte)
            return i;
    }
    return room;
}

/* The buffer that was sent from has had its day: it takes what is to come. */
static int lap_check(struct mgds_bench_end *end,
                     const struct mgds_bench_batch *batch, size_t lap,
                     struct mgds_bench_wrong *wrong)
{
    const struct mgds_bench_plan *plan = batch->plan;
    struct mgds_bench_place place = place_of(end, batch, lap);
    char *want = end->send.view;
    const char *got = end->recv.view + lap * plan->recv_step;
    size_t bytes = end->program->collective->received(&place, want);
    size_t at = compare(want, bytes, got, plan->recv_step);

    if (at == plan->recv_step)
        return 0;
    *wrong = (struct mgds_bench_wrong){
        .lap = lap,
        .message = place.bytes > 0 ? at / place.bytes : 0,
        .offset = place.bytes > 0 ? at % place.bytes : at,
        .from = place.bytes > 0 ? (int)(at / place.bytes) : 0,
        .expected = (unsigned char)(at < bytes ? want[at] : UNTOUCHED),
        .got = (unsigned char)got[at]};
    return 1;
}

int mgds_bench_collective_check(struct mgds_bench_end *end,
                                const struct mgds_bench_batch *batch,
                                struct mgds_bench_wrong *wrong)
{
    struct mgds_bench_wrong found;
    int count = 0;
    int rc = mgds_bench_buffer_fetch(&end->recv,
                                     batch->laps * batch->plan->recv_step);

    if (rc < 0)
        return rc;
    for (size_t lap = 0; lap < batch->laps; lap++) {
        if (lap_check(end, batch, lap, &found) && count++ == 0)
            *wrong = found;
    }
    return count;
}
