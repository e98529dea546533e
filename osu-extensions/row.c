/* Measures one row: batches until enough iterations are timed, then figures. */
#include "osu-extensions/row.h"

#include <stdio.h>
#include <string.h>

#include "osu-extensions/way.h"

/* No iteration is shorter than the clock can tell: figures stay finite. */
#define TICK 1e-9

/* A row being measured. */
struct measure {
    struct mgds_bench_end *end;
    const struct mgds_bench_plan *plan;
    struct mgds_bench_batch batch;
    struct mgds_bench_datatype datatype;
    double *samples; /* seconds of the timed iterations; end's */
    size_t run;      /* iterations run, warm-up and untimed ones too */
    size_t counted;  /* without the untimed ones of the batches */
    int wrong;       /* messages */
    double process;  /* CPU seconds of an iteration, summed over batches */
    size_t batches;
};

static void wrong_print(const struct measure *m,
                        const struct mgds_bench_wrong *wrong)
{
    bool rival = m->end->way && m->end->way->rival != 0;

    fprintf(stderr,
            "%s: rank %d: %s%swrong byte: size %zu, iteration %zu, %s %zu from "
            "rank %d, offset %zu: expected 0x%02x, got 0x%02x\n",
            m->end->program->spec.name, m->end->rank,
            rival ? m->end->way->title : "", rival ? ": " : "", m->plan->size,
            m->run + wrong->lap, wrong->answer ? "answer" : "message",
            wrong->message, wrong->from, wrong->offset, wrong->expected,
            wrong->got);
}

/* Of the batch that just ran, what belongs to timed iterations. */
static void samples_take(struct measure *m)
{
    const double *seconds = m->end->seconds + m->plan->untimed;
    size_t laps = m->batch.laps - m->plan->untimed;

    for (size_t i = 0; i < laps; i++, m->counted++) {
        if (m->counted < m->plan->warmup)
            continue;
        m->samples[m->counted - m->plan->warmup] =
            seconds[i] > TICK ? seconds[i] : TICK;
    }
}

static int batch_measure(struct measure *m, size_t laps)
{
    struct mgds_bench_wrong wrong;
    int rc;

    m->batch.laps = laps + (m->batch.first ? 0 : m->plan->untimed);
    rc = mgds_bench_batch_prepare(m->end, &m->batch);
    if (rc < 0)
        return rc;
    rc = mgds_bench_batch_run(m->end, &m->batch);
    if (rc < 0)
        return rc;
    if (!m->batch.first) {
        m->process += m->end->cpu_process;
        m->batches++;
    }
    rc = mgds_bench_batch_check(m->end, &m->batch, &wrong);
    if (rc < 0)
        return rc;
    if (rc > 0 && m->wrong == 0)
        wrong_print(m, &wrong);
    m->wrong += rc;
    if (!m->batch.first)
        samples_take(m);
    m->run += m->batch.laps;
    m->batch.number++;
    return 0;
}

/*
 * One iteration that does not wait for others to be enqueued: who connects, or
 * loads kernels, when it first meets a size cannot do so on a held stream.
 */
static int first_measure(struct measure *m)
{
    int rc;

    m->batch.first = true;
    m->batch.held = false;
    rc = batch_measure(m, 1);
    m->batch.first = false;
    m->batch.held = m->plan->held;
    return rc;
}

static int batches_measure(struct measure *m)
{
    size_t left = m->plan->warmup + m->plan->iterations;
    int rc = m->end->way ? first_measure(m) : 0;

    while (rc == 0 && left > 0) {
        size_t laps = left < m->plan->laps ? left : m->plan->laps;

        rc = batch_measure(m, laps);
        left -= laps;
    }
    return rc;
}

/*
 * On rank 0: the mean over the pairs of each iteration (second ranks hold
 * zeros). Every rank learns whether any saw a wrong message.
 */
static void ranks_reduce(struct measure *m)
{
    bool root = m->end->rank == 0;
    int any = m->wrong > 0;

    MPI_Reduce(root ? MPI_IN_PLACE : m->samples, root ? m->samples : NULL,
               (int)m->plan->iterations, MPI_DOUBLE, MPI_SUM, 0, m->end->comm);
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, m->end->comm);
    m->wrong = any;
    for (size_t i = 0; root && i < m->plan->iterations; i++)
        m->samples[i] /= m->end->pairs;
}

static void row_fill(struct mgds_bench_row *row, const struct measure *m,
                     const struct mgds_bench_options *options)
{
    const struct mgds_bench_program *program = m->end->program;
    struct mgds_bench_shape shape = {m->plan->layout.data, m->plan->messages,
                                     m->end->pairs};
    size_t n = m->plan->iterations;
    double mean = mgds_bench_samples_mean(m->samples, n);

    row->value.avg = program->value(&shape, mean);
    row->process_us =
        m->process / (double)m->batches * 1e6 / (2 * shape.messages);
    row->rate = shape.messages * shape.pairs / mean;
    for (size_t i = 0; i < n; i++)
        m->samples[i] = program->value(&shape, m->samples[i]);
    mgds_bench_samples_sort(m->samples, n);
    row->value.min = m->samples[0];
    row->value.p50 = mgds_bench_samples_percentile(m->samples, n, 50);
    row->value.p99 = mgds_bench_samples_percentile(m->samples, n, 99);
    row->value.max = m->samples[n - 1];
    for (int i = 0; i < options->tails_count; i++)
        row->tails[i] =
            mgds_bench_samples_percentile(m->samples, n, options->tails[i]);
}

static int measure_run(struct measure *m)
{
    int rc =
        mgds_bench_datatype_init(&m->datatype, m->plan->type, &m->plan->layout);

    if (rc < 0)
        return rc;
    m->batch.datatype = &m->datatype;
    rc = batches_measure(m);
    mgds_bench_datatype_fini(&m->datatype);
    return rc;
}

int mgds_bench_row_measure(struct mgds_bench_row *row,
                           struct mgds_bench_end *end,
                           const struct mgds_bench_options *options,
                           const struct mgds_bench_plan *plan, int number)
{
    struct measure m = {.end = end, .plan = plan, .samples = end->samples};
    int rc;

    m.batch.plan = plan;
    m.batch.row = (uint64_t)number;
    rc = measure_run(&m);
    if (rc < 0)
        return rc;
    if (end->role == MGDS_BENCH_SECOND)
        memset(m.samples, 0, plan->iterations * sizeof(*m.samples));
    ranks_reduce(&m);
    *row = (struct mgds_bench_row){.size = plan->size,
                                   .bytes = plan->layout.data,
                                   .type = plan->type,
                                   .window = plan->messages,
                                   .iterations = plan->iterations,
                                   .validated = m.wrong == 0,
                                   .held = plan->held && !end->synced};
    if (end->rank != 0)
        return 0;
    row_fill(row, &m, options);
    if (options->copies)
        rc = mgds_bench_gpu_copy_cost(&row->copies, plan->layout.data);
    return rc;
}
