/* What is enqueued, and how a batch of it is run and timed. */
#include "osu-extensions/enqueued.h"

#include <time.h>

#include "osu-extensions/queue.h"
#include "osu-extensions/way.h"

void mgds_bench_enqueue_ping(const struct mgds_bench_lap *lap)
{
    lap->way->send(lap, lap->send);
    lap->way->recv(lap, lap->recv);
}

void mgds_bench_enqueue_pong(const struct mgds_bench_lap *lap)
{
    lap->way->recv(lap, lap->recv);
    lap->way->send(lap, lap->send);
}

static void sends_start(const struct mgds_bench_lap *lap, int index)
{
    for (int m = 0; m < lap->messages; m++)
        lap->way->start_send(lap, lap->send + (size_t)m * lap->send_step,
                             index + m);
}

static void recvs_start(const struct mgds_bench_lap *lap)
{
    for (int m = 0; m < lap->messages; m++)
        lap->way->start_recv(lap, lap->recv + (size_t)m * lap->recv_step, m);
}

void mgds_bench_enqueue_window_send(const struct mgds_bench_lap *lap)
{
    sends_start(lap, 0);
    lap->way->complete(lap, lap->messages);
    lap->way->recv_answer(lap);
}

void mgds_bench_enqueue_window_recv(const struct mgds_bench_lap *lap)
{
    recvs_start(lap);
    lap->way->complete(lap, lap->messages);
    lap->way->send_answer(lap);
}

void mgds_bench_enqueue_window_exchange(const struct mgds_bench_lap *lap)
{
    recvs_start(lap);
    sends_start(lap, lap->messages);
    lap->way->complete(lap, 2 * lap->messages);
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void lap_run(struct mgds_bench_end *end, struct mgds_bench_lap *lap)
{
    size_t step = (size_t)lap->messages;

    if (end->role == MGDS_BENCH_FIRST)
        end->program->first(lap);
    else
        end->program->second(lap);
    lap->send += step * lap->send_step;
    lap->recv += step * lap->recv_step;
    lap->answer++;
    lap->number++;
}

static double cpu_of_process(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* All pairs are here: their streams may go. Returns what waiting has burnt,
 * negative, as it is nobody's cost. */
static double go_together(struct mgds_bench_end *end)
{
    double burnt = cpu_of_process();

    MPI_Barrier(end->comm);
    burnt -= cpu_of_process();
    mgds_bench_queue_go(end->queue);
    return burnt;
}

static size_t timed_of(const struct mgds_bench_batch *batch)
{
    return batch->laps - (batch->first ? 0 : batch->plan->untimed);
}

static int laps_enqueue(struct mgds_bench_end *end,
                        const struct mgds_bench_batch *batch,
                        struct mgds_bench_lap *lap)
{
    size_t untimed = batch->laps - timed_of(batch);
    double thread;
    int rc;

    for (size_t i = 0; i < untimed; i++)
        lap_run(end, lap);
    rc = mgds_bench_queue_begin(end->queue);
    thread = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = untimed; i < batch->laps; i++)
        lap_run(end, lap);
    end->cpu_thread = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - thread;
    return rc == 0 ? mgds_bench_queue_end(end->queue) : rc;
}

/* All iterations, untimed ones too, cost the process: by all of them. */
static void cpu_share(struct mgds_bench_end *end,
                      const struct mgds_bench_batch *batch, double process)
{
    end->cpu_thread /= (double)timed_of(batch);
    end->cpu_process = process / (double)batch->laps;
}

static int run_queued(struct mgds_bench_end *end,
                      const struct mgds_bench_batch *batch,
                      struct mgds_bench_lap *lap)
{
    double process = -cpu_of_process();
    double seconds = 0;
    int rc = mgds_bench_queue_hold(end->queue);

    if (rc < 0)
        return rc;
    if (!batch->held)
        process += go_together(end);
    rc = laps_enqueue(end, batch, lap);
    if (batch->held)
        process += go_together(end);
    if (rc == 0)
        rc = mgds_bench_queue_rest(end->queue);
    process += cpu_of_process();
    MPI_Barrier(end->comm); /* what came without order is there now, too */
    if (rc == 0)
        rc = mgds_bench_queue_seconds(end->queue, &seconds);
    cpu_share(end, batch, process);
    seconds /= (double)timed_of(batch);
    for (size_t i = 0; i < batch->laps; i++)
        end->seconds[i] = end->program->by_cpu ? end->cpu_thread : seconds;
    return rc;
}

static int run_synced(struct mgds_bench_end *end,
                      const struct mgds_bench_batch *batch,
                      struct mgds_bench_lap *lap)
{
    double process = cpu_of_process();
    int rc = 0;

    MPI_Barrier(end->comm);
    for (size_t i = 0; rc == 0 && i < batch->laps; i++) {
        double start = MPI_Wtime();
        double thread = clock_seconds(CLOCK_THREAD_CPUTIME_ID);

        lap_run(end, lap);
        thread = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - thread;
        rc = mgds_bench_queue_wait(end->queue);
        end->seconds[i] = end->program->by_cpu ? thread : MPI_Wtime() - start;
    }
    process = cpu_of_process() - process;
    end->cpu_process = process / (double)batch->laps;
    MPI_Barrier(end->comm);
    return rc;
}

int mgds_bench_enqueued_run(struct mgds_bench_end *end,
                            const struct mgds_bench_batch *batch,
                            struct mgds_bench_lap *lap)
{
    return end->synced ? run_synced(end, batch, lap)
                       : run_queued(end, batch, lap);
}
