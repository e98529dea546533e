/*
 * The run of a benchmark from command line to exit status. All decisions are
 * made alike on all ranks, so that every rank takes part in every collective.
 */
#include "osu-extensions/bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "osu-extensions/document.h"
#include "osu-extensions/gpu.h"
#include "osu-extensions/report.h"
#include "osu-extensions/rounds.h"
#include "osu-extensions/text.h"
#include "osu-extensions/world.h"

#define STATUS_DONE 0
#define STATUS_WRONG 1
#define STATUS_USAGE 2

/* Windows of -V, and message rates kept for the table behind theirs. */
static const int varied[] = {1, 2, 4, 8, 16, 32, 64, 128};

#define VARIED ((int)(sizeof(varied) / sizeof(varied[0])))
#define SIZES_MAX 40 /* sizes double from 0 to INT_MAX at most */

struct bench {
    const struct mgds_bench_program *program;
    struct mgds_bench_options options;
    int argc;
    char **argv;
    struct mgds_bench_world world;
    struct mgds_bench_end end;
    struct mgds_bench_text text;
    struct mgds_bench_document *report; /* rank 0 with --json only */
    int pairs;
    int rows;
    int status; /* the same on all ranks that measure */
};

/* One line from rank 0, prefixed with the program's name. */
__attribute__((format(printf, 2, 3))) static int refuse(const struct bench *b,
                                                        const char *format, ...)
{
    va_list args;

    if (b->world.rank == 0) {
        va_start(args, format);
        fprintf(stderr, "%s: ", b->program->spec.name);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
    }
    return STATUS_USAGE;
}

/* Windows to measure: one, or those of -V. */
static int windows_of(const struct bench *b, const int **windows)
{
    *windows = b->options.vary_window ? varied : &b->options.window;
    return b->options.vary_window ? VARIED : 1;
}

static int ranks_check(const struct bench *b)
{
    const char *name = b->program->spec.name;
    int ranks = b->world.ranks;

    if (b->program->two_ranks && ranks != 2)
        return refuse(b, "started with -n %d: %s needs exactly 2 ranks", ranks,
                      name);
    if (ranks < 2)
        return refuse(b, "started with -n %d: %s needs at least 2 ranks", ranks,
                      name);
    if (b->program->collective)
        return STATUS_DONE;
    if (b->program->spec.metric == MGDS_BENCH_LATENCY && ranks % 2 != 0)
        return refuse(b, "started with -n %d: %s needs an even number of ranks",
                      ranks, name);
    if (b->options.pairs > ranks / 2)
        return refuse(b, "option -p %d: %d ranks make at most %d pairs",
                      b->options.pairs, ranks, ranks / 2);
    return STATUS_DONE;
}

/* Whether this rank has a buffer in GPU memory, or times copies to it. */
static bool gpu_wanted(const struct bench *b)
{
    if (mgds_bench_world_role(&b->world, b->pairs) < 0)
        return false;
    return b->program->spec.enqueued ||
           mgds_bench_world_kind(&b->world, &b->options, b->pairs) !=
               MGDS_BENCH_HOST ||
           (b->options.copies && b->world.rank == 0);
}

/* One line for the job, that of the lowest rank that has one. */
static int gpus_open(const struct bench *b)
{
    char why[256] = "";
    int local = mgds_bench_world_local_rank(&b->world);
    int rc = 0;
    int worst;

    if (gpu_wanted(b))
        rc = mgds_bench_gpu_open(b->options.gpu, local, why);
    worst = mgds_bench_world_worst(&b->world, rc, why);
    return worst < 0 ? STATUS_DONE : refuse(b, "rank %d: %s", worst, why);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void need_add(struct mgds_bench_need *need,
                     const struct mgds_bench_plan *plan)
{
    need->send_bytes = larger(need->send_bytes, plan->send_bytes);
    need->recv_bytes = larger(need->recv_bytes, plan->recv_bytes);
    need->laps = larger(need->laps, mgds_bench_plan_batch(plan));
    need->messages = larger(need->messages, (size_t)plan->messages);
    need->iterations = larger(need->iterations, plan->iterations);
}

/* What the rows of one datatype need; 0 laps: it has no rows. */
static void need_of(const struct bench *b, enum mgds_bench_type type,
                    struct mgds_bench_need *need)
{
    const struct mgds_bench_options *o = &b->options;
    struct mgds_bench_plan plan;
    const int *windows;
    int count = windows_of(b, &windows);

    for (size_t size = o->min_size; size <= o->max_size;
         size = mgds_bench_size_next(size)) {
        for (int w = 0; w < count; w++) {
            if (mgds_bench_plan_init(&plan, o, type, size, windows[w]) == 0)
                need_add(need, &plan);
        }
    }
}

static int need_check(const struct bench *b, struct mgds_bench_need *need)
{
    const struct mgds_bench_options *o = &b->options;
    bool both = b->program->traffic == MGDS_BENCH_BOTH_SEND;
    size_t bytes;

    memset(need, 0, sizeof(*need));
    for (int i = 0; i < o->types_count; i++)
        need_of(b, o->types[i], need);
    if (need->laps == 0)
        return refuse(b,
                      "option -m %zu:%zu: no size holds one element of the "
                      "datatype; raise it",
                      o->min_size, o->max_size);
    bytes = both ? need->send_bytes + need->recv_bytes
                 : larger(need->send_bytes, need->recv_bytes);
    if (bytes > o->memory_limit)
        return refuse(b,
                      "a rank needs %zu bytes of buffers, the limit is %zu; "
                      "lower -m or -W, or raise -M",
                      bytes, o->memory_limit);
    return STATUS_DONE;
}

/* Every rank learns what rank 0 met. */
static int report_open(struct bench *b)
{
    struct mgds_bench_machine machine;
    int rc = 0;

    if (!b->options.json)
        return STATUS_DONE;
    if (b->world.rank == 0)
        rc = mgds_bench_document_create(&b->report, b->options.json);
    MPI_Bcast(&rc, 1, MPI_INT, 0, b->world.comm);
    if (rc < 0)
        return refuse(b, "option --json: cannot write %s: %s", b->options.json,
                      strerror(-rc));
    mgds_bench_machine_init(&machine, b->world.comm);
    if (!b->report)
        return STATUS_DONE;
    rc = mgds_bench_report_describe(b->report, &b->program->spec, &b->options,
                                    &machine, b->argc, b->argv);
    if (rc == 0)
        rc = mgds_bench_report_rivals(b->report, &b->end);
    if (rc < 0)
        MPI_Abort(b->world.comm, STATUS_WRONG);
    return STATUS_DONE;
}

static int report_close(struct bench *b)
{
    int rc = mgds_bench_document_end(b->report);

    b->report = NULL;
    if (rc == 0)
        return STATUS_DONE;
    fprintf(stderr, "%s: option --json: cannot write %s: %s\n",
            b->program->spec.name, b->options.json, strerror(-rc));
    return STATUS_WRONG;
}

/*
 * A failure of this rank alone ends the job at once. What all ranks know, as
 * a wrong byte, ends it in order: MPI_Abort may swallow lines on their way.
 */
static void fail(const struct bench *b, int rc)
{
    fprintf(stderr, "%s: rank %d: %s\n", b->program->spec.name, b->world.rank,
            strerror(-rc));
    MPI_Abort(b->world.comm, STATUS_WRONG);
}

static void row_print(struct bench *b, const struct mgds_bench_row *row)
{
    int rc = 0;

    if (b->world.rank != 0)
        return;
    if (b->options.vary_window)
        mgds_bench_text_cell(&b->text, row->value.avg);
    else
        mgds_bench_text_row(&b->text, row);
    if (b->report)
        rc = mgds_bench_report_add(b->report, &b->end, &b->options, row);
    if (rc < 0)
        fail(b, rc);
}

static bool all_validated(const struct bench *b,
                          const struct mgds_bench_row *row)
{
    bool well = row->validated;

    for (int i = 0; i + 1 < b->end.tracks_count; i++)
        well = well && (!row->rivals[i].measured || row->rivals[i].validated);
    return well;
}

/* Measures one row, unless one before it was wrong. */
static void row_run(struct bench *b, const struct mgds_bench_plan *plan,
                    struct mgds_bench_row *row)
{
    int rc;

    if (b->status != STATUS_DONE)
        return;
    rc = mgds_bench_rounds_measure(row, &b->end, &b->options, plan, b->rows++);
    if (rc < 0)
        fail(b, rc);
    row_print(b, row);
    if (!all_validated(b, row))
        b->status = STATUS_WRONG;
}

static void rates_print(const struct bench *b, const double *rates)
{
    for (int w = 0; w < VARIED; w++)
        mgds_bench_text_cell(&b->text, rates[w]);
    mgds_bench_text_line_end(&b->text);
}

/* One line of the table of -V. Returns 1, or 0 if there is none. */
static int line_run(struct bench *b, enum mgds_bench_type type, size_t size,
                    double *rates)
{
    struct mgds_bench_plan plan;
    struct mgds_bench_row row = {.rate = 0};
    bool root = b->world.rank == 0;

    for (int w = 0; w < VARIED && b->status == STATUS_DONE; w++) {
        if (mgds_bench_plan_init(&plan, &b->options, type, size, varied[w]) < 0)
            return 0;
        if (w == 0 && root)
            mgds_bench_text_line(&b->text, size);
        row_run(b, &plan, &row);
        rates[w] = row.rate;
    }
    if (root)
        mgds_bench_text_line_end(&b->text);
    return 1;
}

/* -V: bandwidths while they are measured, then the rates. */
static void table_run(struct bench *b, enum mgds_bench_type type)
{
    const struct mgds_bench_options *o = &b->options;
    double rates[SIZES_MAX][VARIED];
    size_t sizes[SIZES_MAX];
    int lines = 0;
    bool root = b->world.rank == 0;

    if (root)
        mgds_bench_text_windows(&b->text, varied, VARIED);
    for (size_t size = o->min_size;
         size <= o->max_size && b->status == STATUS_DONE;
         size = mgds_bench_size_next(size)) {
        sizes[lines] = size;
        lines += line_run(b, type, size, rates[lines]);
    }
    if (!root || !o->rate || b->status != STATUS_DONE)
        return;
    mgds_bench_text_profile(&b->text, varied, VARIED);
    for (int i = 0; i < lines; i++) {
        mgds_bench_text_line(&b->text, sizes[i]);
        rates_print(b, rates[i]);
    }
}

static void rows_run(struct bench *b, enum mgds_bench_type type)
{
    const struct mgds_bench_options *o = &b->options;
    struct mgds_bench_plan plan;
    struct mgds_bench_row row;

    for (size_t size = o->min_size; size <= o->max_size;
         size = mgds_bench_size_next(size)) {
        if (mgds_bench_plan_init(&plan, o, type, size, o->window) == 0)
            row_run(b, &plan, &row);
    }
}

static void types_run(struct bench *b)
{
    const struct mgds_bench_options *o = &b->options;

    if (b->end.rank < 0)
        return;
    if (b->world.rank == 0)
        mgds_bench_text_header(&b->text);
    for (int i = 0; i < o->types_count && b->status == STATUS_DONE; i++) {
        if (b->world.rank == 0)
            mgds_bench_text_columns(&b->text, o->types[i]);
        if (o->vary_window)
            table_run(b, o->types[i]);
        else
            rows_run(b, o->types[i]);
    }
}

static int bench_run(struct bench *b)
{
    struct mgds_bench_need need;
    int status = ranks_check(b);
    int rc;

    if (status == STATUS_DONE)
        status = need_check(b, &need);
    if (status == STATUS_DONE)
        status = gpus_open(b);
    if (status != STATUS_DONE)
        return status;
    rc =
        mgds_bench_end_init(&b->end, &b->world, b->program, &b->options, &need);
    if (rc < 0)
        return refuse(b, "no buffers of %zu and %zu bytes: %s", need.send_bytes,
                      need.recv_bytes, strerror(-rc));
    b->text.end = &b->end;
    status = report_open(b);
    if (status == STATUS_DONE)
        types_run(b);
    mgds_bench_end_fini(&b->end);
    if (status == STATUS_DONE)
        status = report_close(b);
    return b->status != STATUS_DONE ? b->status : status;
}

static int bench_answer(struct bench *b)
{
    bool root = b->world.rank == 0;

    if (b->options.action == MGDS_BENCH_RUN)
        return bench_run(b);
    if (root && b->options.action == MGDS_BENCH_HELP)
        mgds_bench_options_help(stdout, &b->program->spec);
    if (root && b->options.action == MGDS_BENCH_VERSION) {
        mgds_bench_text_title(&b->text);
        putchar('\n');
    }
    return STATUS_DONE;
}

/*
 * The library reads its settings when it is loaded, so that this program
 * starts again with the one that was asked for. On failure it goes on: the
 * answer says what the setting was.
 */
static void trigger_set(const char *trigger, char **argv)
{
    const char *now = getenv("MPIX_GDS_TRIGGER");

    if (!trigger || (now && strcmp(now, trigger) == 0) ||
        setenv("MPIX_GDS_TRIGGER", trigger, 1) < 0)
        return;
    execv("/proc/self/exe", argv);
}

int mgds_bench_main(int argc, char **argv,
                    const struct mgds_bench_program *program)
{
    struct bench b = {.program = program, .argc = argc, .argv = argv};
    char why[256];
    int parsed =
        mgds_bench_options_init(&b.options, &program->spec, argc, argv, why);
    int status;

    if (parsed == 0)
        trigger_set(b.options.trigger, argv);
    mgds_bench_world_init(&b.world, parsed == 0 && b.options.session, &argc,
                          &argv);
    setvbuf(stdout, NULL, _IOLBF, 0); /* whole lines, also through mpiexec */
    if (program->collective)
        b.options.pairs = b.world.ranks;
    b.pairs = b.options.pairs > 0 ? b.options.pairs : b.world.ranks / 2;
    b.text = (struct mgds_bench_text){stdout, &program->spec, &b.options, NULL,
                                      b.pairs};
    status = parsed == 0 ? bench_answer(&b) : refuse(&b, "%s", why);
    if (parsed == 0)
        mgds_bench_options_fini(&b.options);
    mgds_bench_world_fini(&b.world);
    return status;
}
