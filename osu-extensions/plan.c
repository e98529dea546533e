/* How many iterations go into a batch, and where its messages lie. */
#include "osu-extensions/plan.h"

/* Messages start on cache lines. */
#define LINE 64

static size_t line_up(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/*
 * What is enqueued runs back to back only within a batch, so that one holds
 * more; but a stream that is held takes about a thousand operations.
 */
static size_t laps_enqueued(const struct mgds_bench_plan *plan)
{
    size_t messages = (size_t)plan->messages;
    size_t laps = MGDS_BENCH_QUEUE_BYTES / (plan->recv_step * messages);

    if (laps > MGDS_BENCH_QUEUE_MESSAGES / messages)
        laps = MGDS_BENCH_QUEUE_MESSAGES / messages;
    return laps > 0 ? laps : 1;
}

static size_t laps_fit(size_t lap_bytes)
{
    size_t laps = MGDS_BENCH_BATCH_BYTES / lap_bytes;

    if (laps > MGDS_BENCH_BATCH_LAPS)
        return MGDS_BENCH_BATCH_LAPS;
    return laps > 0 ? laps : 1;
}

static size_t blocks_of(const struct mgds_bench_options *options)
{
    return options->collective ? (size_t)options->pairs : 1;
}

int mgds_bench_plan_init(struct mgds_bench_plan *plan,
                         const struct mgds_bench_options *options,
                         enum mgds_bench_type type, size_t size, int messages)
{
    size_t in_batch;
    int rc;

    *plan = (struct mgds_bench_plan){
        .size = size, .type = type, .messages = messages};
    rc = mgds_bench_layout_init(&plan->layout, &options->ddt,
                                mgds_bench_type_size(type), size);
    if (rc < 0)
        return rc;
    plan->iterations = mgds_bench_iterations(options, size);
    plan->warmup = mgds_bench_warmup(options, size);
    plan->recv_step =
        line_up(plan->layout.span * blocks_of(options) + MGDS_BENCH_GUARD);
    plan->send_step = options->multiple ? plan->recv_step : LINE;
    plan->laps = laps_fit(plan->recv_step * (size_t)messages);
    if (options->enqueued)
        plan->laps = laps_enqueued(plan);
    plan->untimed = plan->laps > 1 ? 1 : 0;
    if (options->untimed >= 0)
        plan->untimed = (size_t)options->untimed;
    in_batch = mgds_bench_plan_batch(plan) * (size_t)messages;
    /* Each message is sent or received twice here, to and fro; an answer, and
     * what completes a window, come with every iteration. */
    plan->held = 2 * in_batch <= MGDS_BENCH_QUEUE_CALLS;
    plan->send_bytes = (in_batch - 1) * plan->send_step + plan->recv_step;
    plan->recv_bytes = in_batch * plan->recv_step;
    return 0;
}

size_t mgds_bench_plan_batch(const struct mgds_bench_plan *plan)
{
    return plan->laps + plan->untimed;
}

size_t mgds_bench_size_next(size_t size)
{
    return size > 0 ? 2 * size : 1;
}
