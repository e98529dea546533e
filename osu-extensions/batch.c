/*
 * What one rank does with a batch of iterations. Touches MPI messages, the
 * clock and the buffers of its end; all comparing happens on the host views.
 */
#include "osu-extensions/batch.h"

#include "osu-extensions/collective.h"
#include "osu-extensions/enqueued.h"
#include "osu-extensions/pattern.h"

#define TAG_READY 3

static uint64_t seed_of(const struct mgds_bench_batch *batch, int sender)
{
    return mgds_bench_seed(batch->row, batch->number, (uint64_t)sender);
}

static size_t messages_of(const struct mgds_bench_batch *batch)
{
    return batch->laps * (size_t)batch->plan->messages;
}

/* What a receiver answers: nothing else in the batch looks like it. */
static uint64_t answer_of(uint64_t seed, size_t lap)
{
    return mgds_bench_seed(seed, lap, seed);
}

/* Answers go from the second to the first, if only the first sends. */
static bool answers(const struct mgds_bench_end *end)
{
    return end->program->traffic == MGDS_BENCH_FIRST_SENDS;
}

/* As the host sees them. */
static uint64_t *answers_of(const struct mgds_bench_end *end)
{
    return (uint64_t *)(void *)end->answer.view;
}

static int answers_prepare(struct mgds_bench_end *end,
                           const struct mgds_bench_batch *batch)
{
    bool first = end->role == MGDS_BENCH_FIRST;
    uint64_t seed = seed_of(batch, first ? end->peer : end->rank);

    for (size_t lap = 0; lap < batch->laps; lap++)
        answers_of(end)[lap] = answer_of(seed, lap) ^
                               (first ? MGDS_BENCH_POISON : MGDS_BENCH_DATA);
    return mgds_bench_buffer_flush(&end->answer,
                                   batch->laps * sizeof(uint64_t));
}

static void recv_poison(struct mgds_bench_end *end,
                        const struct mgds_bench_batch *batch)
{
    const struct mgds_bench_plan *plan = batch->plan;
    struct mgds_bench_pattern pattern = {.seed = seed_of(batch, end->peer),
                                         .flip = MGDS_BENCH_POISON};

    for (size_t m = 0; m < messages_of(batch); m++) {
        mgds_bench_pattern_fill(pattern, end->recv.view + m * plan->recv_step,
                                plan->recv_step);
        pattern.position += plan->send_step;
    }
}

int mgds_bench_batch_prepare(struct mgds_bench_end *end,
                             const struct mgds_bench_batch *batch)
{
    const struct mgds_bench_plan *plan = batch->plan;
    struct mgds_bench_pattern pattern = {.seed = seed_of(batch, end->rank)};
    size_t bytes = (messages_of(batch) - 1) * plan->send_step + plan->recv_step;
    int rc = 0;

    if (end->program->collective)
        return mgds_bench_collective_prepare(end, batch);
    if (answers(end))
        rc = answers_prepare(end, batch);
    if (rc == 0 && end->sends) {
        mgds_bench_pattern_fill(pattern, end->send.view, bytes);
        rc = mgds_bench_buffer_flush(&end->send, bytes);
    }
    if (rc == 0 && end->receives) {
        recv_poison(end, batch);
        rc = mgds_bench_buffer_flush(&end->recv,
                                     messages_of(batch) * plan->recv_step);
    }
    return rc;
}

/*
 * The first rank starts when the second waits for it, as it does between
 * iterations; several pairs start together.
 */
static void start_together(const struct mgds_bench_end *end)
{
    if (end->pairs > 1)
        MPI_Barrier(end->comm);
    if (end->role == MGDS_BENCH_FIRST)
        MPI_Recv(NULL, 0, MPI_CHAR, end->peer, TAG_READY, end->comm,
                 MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_CHAR, end->peer, TAG_READY, end->comm);
}

/* Persistent requests stand side by side, both ways of each iteration. */
static size_t requests_step(const struct mgds_bench_end *end)
{
    return end->program->first_make ? 2 : 0;
}

static void lap_next(const struct mgds_bench_end *end,
                     struct mgds_bench_lap *lap)
{
    size_t step = (size_t)lap->messages;

    lap->send += step * lap->send_step;
    lap->recv += step * lap->recv_step;
    lap->answer++;
    lap->requests += step * requests_step(end);
}

static int (*make_of(const struct mgds_bench_end *end))(
    const struct mgds_bench_lap *lap)
{
    return end->role == MGDS_BENCH_FIRST ? end->program->first_make
                                         : end->program->second_make;
}

/* From here on the batch has its persistent requests. */
static void requests_make(struct mgds_bench_end *end, struct mgds_bench_lap lap,
                          size_t laps)
{
    if (!make_of(end))
        return;
    for (size_t i = 0; i < laps; i++) {
        end->made = make_of(end)(&lap);
        lap_next(end, &lap);
    }
}

static void requests_free(struct mgds_bench_end *end, struct mgds_bench_lap lap,
                          size_t laps)
{
    if (!make_of(end))
        return;
    for (size_t i = 0; i < laps; i++) {
        for (int r = 0; r < end->made; r++)
            MPI_Request_free(&lap.requests[r]);
        lap_next(end, &lap);
    }
}

static void laps_first(struct mgds_bench_end *end, struct mgds_bench_lap *lap,
                       size_t laps)
{
    double last = MPI_Wtime();

    for (size_t i = 0; i < laps; i++) {
        double now;

        end->program->first(lap);
        now = MPI_Wtime();
        end->seconds[i] = now - last;
        last = now;
        lap_next(end, lap);
    }
}

static void laps_second(struct mgds_bench_end *end, struct mgds_bench_lap *lap,
                        size_t laps)
{
    for (size_t i = 0; i < laps; i++) {
        end->program->second(lap);
        lap_next(end, lap);
    }
}

int mgds_bench_batch_run(struct mgds_bench_end *end,
                         const struct mgds_bench_batch *batch)
{
    struct mgds_bench_lap lap = {
        .comm = end->comm,
        .way = end->way,
        .lane = end->lane,
        .peer = end->peer,
        .type = batch->datatype->mpi,
        .count = batch->datatype->count,
        .messages = batch->plan->messages,
        .send = end->send.at,
        .send_step = end->sends ? batch->plan->send_step : 0,
        .recv = end->recv.at,
        .recv_step = end->receives ? batch->plan->recv_step : 0,
        .receives = end->receives,
        .bytes = batch->plan->layout.data,
        .places = end->recv.at,
        .place_step = batch->plan->recv_step,
        .answer = (uint64_t *)(void *)end->answer.at,
        .requests = end->requests,
        .statuses = end->statuses,
    };

    struct mgds_bench_lap begin = lap;

    if (end->program->collective)
        return mgds_bench_collective_run(end, batch, &lap);
    if (end->way)
        return mgds_bench_enqueued_run(end, batch, &lap);
    requests_make(end, begin, batch->laps);
    start_together(end);
    if (end->role == MGDS_BENCH_FIRST)
        laps_first(end, &lap, batch->laps);
    else
        laps_second(end, &lap, batch->laps);
    requests_free(end, begin, batch->laps);
    return 0;
}

/* Bytes from begin to end of the message at `at`; 1 if one is wrong. */
static int span_check(struct mgds_bench_pattern pattern, const char *at,
                      struct mgds_bench_piece span,
                      struct mgds_bench_wrong *wrong)
{
    struct mgds_bench_mismatch found;

    pattern.position += span.offset;
    if (!mgds_bench_pattern_check(pattern, at + span.offset, span.length,
                                  &found))
        return 0;
    wrong->offset = span.offset + found.offset;
    wrong->expected = found.expected;
    wrong->got = found.got;
    return 1;
}

/* Data where the layout has data, poison everywhere else in the slot. */
static int message_check(const struct mgds_bench_plan *plan,
                         struct mgds_bench_pattern data, const char *at,
                         struct mgds_bench_wrong *wrong)
{
    struct mgds_bench_pattern poison = data;
    struct mgds_bench_piece gap = {0, 0};

    poison.flip = MGDS_BENCH_POISON;
    for (size_t i = 0; i < plan->layout.blocks; i++) {
        struct mgds_bench_piece block =
            mgds_bench_layout_piece(&plan->layout, i);

        gap.length = block.offset - gap.offset;
        if (span_check(poison, at, gap, wrong) ||
            span_check(data, at, block, wrong))
            return 1;
        gap.offset = block.offset + block.length;
    }
    gap.length = plan->recv_step - gap.offset;
    return span_check(poison, at, gap, wrong);
}

static int messages_check(struct mgds_bench_end *end,
                          const struct mgds_bench_batch *batch,
                          struct mgds_bench_wrong *wrong)
{
    const struct mgds_bench_plan *plan = batch->plan;
    struct mgds_bench_pattern data = {.seed = seed_of(batch, end->peer)};
    struct mgds_bench_wrong found = {.from = end->peer};
    int count = 0;

    for (size_t m = 0; m < messages_of(batch); m++) {
        const char *at = end->recv.view + m * plan->recv_step;

        if (message_check(plan, data, at, &found) && count++ == 0) {
            found.lap = m / (size_t)plan->messages;
            found.message = m % (size_t)plan->messages;
            *wrong = found;
        }
        data.position += plan->send_step;
    }
    return count;
}

static int answers_check(struct mgds_bench_end *end,
                         const struct mgds_bench_batch *batch,
                         struct mgds_bench_wrong *wrong)
{
    uint64_t seed = seed_of(batch, end->peer);
    const uint64_t *got = answers_of(end);
    int count =
        mgds_bench_buffer_fetch(&end->answer, batch->laps * sizeof(uint64_t));

    if (count < 0)
        return count;
    for (size_t lap = 0; lap < batch->laps; lap++) {
        uint64_t bad = got[lap] ^ answer_of(seed, lap);

        if (bad == 0 || count++ > 0)
            continue;
        *wrong = (struct mgds_bench_wrong){
            .lap = lap, .answer = true, .from = end->peer};
        wrong->offset = (size_t)__builtin_ctzll(bad) / 8;
        wrong->got = (unsigned char)(got[lap] >> 8 * wrong->offset);
        wrong->expected =
            (unsigned char)(answer_of(seed, lap) >> 8 * wrong->offset);
    }
    return count;
}

int mgds_bench_batch_check(struct mgds_bench_end *end,
                           const struct mgds_bench_batch *batch,
                           struct mgds_bench_wrong *wrong)
{
    int count = 0;
    int rc;

    wrong->from = end->peer;
    if (end->program->collective)
        return mgds_bench_collective_check(end, batch, wrong);
    if (end->receives) {
        rc = mgds_bench_buffer_fetch(&end->recv, messages_of(batch) *
                                                     batch->plan->recv_step);
        if (rc < 0)
            return rc;
        count = messages_check(end, batch, wrong);
    }
    if (count == 0 && answers(end) && end->role == MGDS_BENCH_FIRST)
        count = answers_check(end, batch, wrong);
    return count;
}
