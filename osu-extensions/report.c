/* The only file that knows jansson. */
#include "osu-extensions/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "osu-extensions/rounds.h"
#include "osu-extensions/way.h"

#define SCHEMA "mpix-gds/osu-extensions/1"

struct mgds_bench_report {
    FILE *file;
    json_t *root;
    json_t *rows;
};

int mgds_bench_report_create(struct mgds_bench_report **out, const char *path)
{
    struct mgds_bench_report *report = calloc(1, sizeof(*report));
    int rc = -ENOMEM;

    if (!report)
        return rc;
    report->root = json_object();
    report->rows = json_array();
    if (!report->root || !report->rows)
        goto free_report;
    report->file = fopen(path, "w");
    rc = -errno;
    if (!report->file)
        goto free_report;
    *out = report;
    return 0;
free_report:
    json_decref(report->rows);
    json_decref(report->root);
    free(report);
    return rc;
}

/* jansson's setters take the value over, and take NULL for no memory. */
static int set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

static json_t *date_now(void)
{
    time_t now = time(NULL);
    struct tm utc;
    char text[32];

    if (!gmtime_r(&now, &utc))
        return NULL;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* Names from outside may be anything: JSON wants UTF-8. */
static json_t *text_of(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("(not UTF-8)");
}

static json_t *machine_of(const struct mgds_bench_machine *m)
{
    json_t *gds = m->gds[0] ? json_string(m->gds) : json_null();
    bool gpu = m->gpu.name[0] != '\0';

    return json_pack("{s:o s:o s:I s:s s:s s:o s:o s:o s:i s:i}", "host",
                     text_of(m->host), "cpu", text_of(m->cpu), "cores",
                     (json_int_t)m->cores, "kernel", m->kernel, "mpi", m->mpi,
                     "mpix_gds", gds, "gpu",
                     gpu ? text_of(m->gpu.name) : json_null(), "gpu_driver",
                     gpu ? text_of(m->gpu.driver) : json_null(), "ranks",
                     m->ranks, "nodes", m->nodes);
}

static json_t *ddt_of(const struct mgds_bench_ddt *ddt)
{
    if (ddt->kind == MGDS_BENCH_DDT_CONT)
        return json_string("cont");
    if (ddt->kind == MGDS_BENCH_DDT_VECT)
        return json_sprintf("vect:%zu:%zu", ddt->stride, ddt->length);
    if (ddt->kind == MGDS_BENCH_DDT_INDX)
        return json_sprintf("indx, %zu blocks", ddt->count);
    return json_null();
}

static json_t *options_of(const struct mgds_bench_options *o, int pairs)
{
    const struct mgds_bench_counts *c = &o->counts;

    return json_pack(
        "{s:[I I] s:I s:I s:I s:I s:i s:b s:i s:i s:[s s] s:s s:b s:o s:I s:i "
        "s:b s:s? s:i}",
        "message_size", (json_int_t)o->min_size, (json_int_t)o->max_size,
        "iterations", (json_int_t)c->iterations, "iterations_large",
        (json_int_t)c->iterations_large, "warmup", (json_int_t)c->warmup,
        "warmup_large", (json_int_t)c->warmup_large, "window", o->window,
        "vary_window", o->vary_window, "pairs", pairs, "untimed", o->untimed,
        "buffers", mgds_bench_kind_name(o->kind[0]),
        mgds_bench_kind_name(o->kind[1]), "buffer_num",
        o->multiple ? "multiple" : "single", "session", o->session, "ddt",
        ddt_of(&o->ddt), "mem_limit", (json_int_t)o->memory_limit, "gpu",
        o->gpu, "sync", o->sync, "trigger", o->trigger, "rounds", o->rounds);
}

int mgds_bench_report_describe(struct mgds_bench_report *report,
                               const struct mgds_bench_spec *spec,
                               const struct mgds_bench_options *options,
                               const struct mgds_bench_machine *machine)
{
    json_t *root = report->root;
    int pairs = options->pairs > 0 ? options->pairs : machine->ranks / 2;

    if (set(root, "schema", json_string(SCHEMA)) < 0 ||
        set(root, "name", json_string(spec->name)) < 0 ||
        set(root, "version", json_string(MGDS_VERSION)) < 0 ||
        set(root, "date", date_now()) < 0 ||
        set(root, "machine", machine_of(machine)) < 0 ||
        set(root, "options", options_of(options, pairs)) < 0)
        return -ENOMEM;
    return 0;
}

int mgds_bench_report_command(struct mgds_bench_report *report, int argc,
                              char **argv)
{
    json_t *words = json_array();

    for (int i = 0; i < argc; i++) {
        if (json_array_append_new(words, text_of(argv[i])) < 0)
            goto free_words;
    }
    return set(report->root, "command", words);
free_words:
    json_decref(words);
    return -ENOMEM;
}

static json_t *tails_of(const struct mgds_bench_options *options,
                        const struct mgds_bench_row *row)
{
    json_t *tails = json_object();
    char name[8];

    for (int i = 0; i < options->tails_count; i++) {
        snprintf(name, sizeof(name), "p%d", options->tails[i]);
        if (set(tails, name, json_real(row->tails[i])) < 0)
            goto free_tails;
    }
    return tails;
free_tails:
    json_decref(tails);
    return NULL;
}

static json_t *rounds_of(const double *rounds, int count)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++) {
        if (json_array_append_new(list, json_real(rounds[i])) < 0)
            goto free_list;
    }
    return list;
free_list:
    json_decref(list);
    return NULL;
}

static json_t *rival_of(const struct mgds_bench_row *row, int number)
{
    const struct mgds_bench_rival *rival = &row->rivals[number];
    const struct mgds_bench_summary *v = &rival->value;

    return json_pack("{s:f s:f s:f s:f s:f s:f s:f s:b s:o}", "avg", v->avg,
                     "min", v->min, "p50", v->p50, "p99", v->p99, "max", v->max,
                     "process_us", rival->process_us, "ratio",
                     mgds_bench_rounds_ratio(row, number), "validated",
                     rival->validated, "rounds",
                     rounds_of(rival->rounds, row->rounds_count));
}

/* What rows of programs that enqueue have more. */
static int enqueued_add(json_t *line, const struct mgds_bench_end *end,
                        const struct mgds_bench_row *row)
{
    json_t *rivals = json_object();

    if (set(line, "rivals", rivals) < 0 ||
        set(line, "held", json_boolean(row->held)) < 0 ||
        set(line, "rounds", rounds_of(row->rounds, row->rounds_count)) < 0)
        return -ENOMEM;
    for (int i = 1; i < end->tracks_count; i++) {
        if (row->rivals[i - 1].measured &&
            set(rivals, end->tracks[i].way->name, rival_of(row, i - 1)) < 0)
            return -ENOMEM;
    }
    return 0;
}

int mgds_bench_report_rivals(struct mgds_bench_report *report,
                             const struct mgds_bench_end *end)
{
    json_t *rivals = json_object();

    if (set(report->root, "rivals", rivals) < 0)
        return -ENOMEM;
    for (int i = 1; i < end->tracks_count; i++) {
        const struct mgds_bench_track *track = &end->tracks[i];
        json_t *one = json_pack(
            "{s:s? s:o}", "version", track->version[0] ? track->version : NULL,
            "left_out", track->lane ? json_null() : text_of(track->why));

        if (set(rivals, track->way->name, one) < 0)
            return -ENOMEM;
    }
    return 0;
}

int mgds_bench_report_add(struct mgds_bench_report *report,
                          const struct mgds_bench_end *end,
                          const struct mgds_bench_options *options,
                          const struct mgds_bench_row *row)
{
    const struct mgds_bench_spec *spec = &end->program->spec;
    bool latency =
        spec->metric == MGDS_BENCH_LATENCY || spec->metric == MGDS_BENCH_COST;
    const struct mgds_bench_summary *v = &row->value;
    json_t *line = json_pack(
        "{s:I s:I s:s s:s s:i s:I s:f s:f s:f s:f s:f s:b}", "size",
        (json_int_t)row->size, "transmitted", (json_int_t)row->bytes, "unit",
        latency ? "us" : "MB/s", "datatype", mgds_bench_type_name(row->type),
        "window", row->window, "iterations", (json_int_t)row->iterations, "avg",
        v->avg, "min", v->min, "p50", v->p50, "p99", v->p99, "max", v->max,
        "validated", row->validated);

    if (json_array_append_new(report->rows, line) < 0)
        return -ENOMEM;
    if (!latency && set(line, "messages_per_s", json_real(row->rate)) < 0)
        return -ENOMEM;
    if (spec->metric == MGDS_BENCH_COST &&
        set(line, "process_us", json_real(row->process_us)) < 0)
        return -ENOMEM;
    if (options->copies &&
        (set(line, "d2h_us", json_real(row->copies.d2h_us)) < 0 ||
         set(line, "h2d_us", json_real(row->copies.h2d_us)) < 0))
        return -ENOMEM;
    if (spec->enqueued && enqueued_add(line, end, row) < 0)
        return -ENOMEM;
    if (options->tails_count > 0 &&
        set(line, "percentiles", tails_of(options, row)) < 0)
        return -ENOMEM;
    return 0;
}

int mgds_bench_report_finish(struct mgds_bench_report *report)
{
    int rc = 0;

    if (!report)
        return 0;
    if (json_object_set(report->root, "rows", report->rows) < 0 ||
        json_dumpf(report->root, report->file,
                   JSON_INDENT(2) | JSON_SORT_KEYS) < 0 ||
        fputc('\n', report->file) == EOF)
        rc = -EIO;
    if (fclose(report->file) != 0 && rc == 0)
        rc = -errno;
    json_decref(report->rows);
    json_decref(report->root);
    free(report);
    return rc;
}
