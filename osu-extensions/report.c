/* The JSON of benchmarks that send messages between pairs. */
#include "osu-extensions/report.h"

#include <errno.h>
#include <stdio.h>

#include "osu-extensions/document.h"
#include "osu-extensions/rounds.h"
#include "osu-extensions/way.h"

#define SCHEMA "mpix-gds/osu-extensions/1"

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

int mgds_bench_report_describe(struct mgds_bench_document *document,
                               const struct mgds_bench_spec *spec,
                               const struct mgds_bench_options *options,
                               const struct mgds_bench_machine *machine,
                               int argc, char **argv)
{
    int pairs = options->pairs > 0 ? options->pairs : machine->ranks / 2;
    int rc = mgds_bench_document_describe(document, SCHEMA, spec->name, machine,
                                          argc, argv);

    return rc < 0 ? rc
                  : mgds_bench_document_set(document->root, "options",
                                            options_of(options, pairs));
}

static json_t *tails_of(const struct mgds_bench_options *options,
                        const struct mgds_bench_row *row)
{
    json_t *tails = json_object();
    char name[8];

    for (int i = 0; i < options->tails_count; i++) {
        snprintf(name, sizeof(name), "p%d", options->tails[i]);
        if (mgds_bench_document_set(tails, name, json_real(row->tails[i])) < 0)
            goto free_tails;
    }
    return tails;
free_tails:
    json_decref(tails);
    return NULL;
}

static json_t *rival_of(const struct mgds_bench_row *row, int number)
{
    const struct mgds_bench_rival *rival = &row->rivals[number];
    const struct mgds_bench_summary *v = &rival->value;

    return json_pack(
        "{s:f s:f s:f s:f s:f s:f s:f s:b s:o}", "avg", v->avg, "min", v->min,
        "p50", v->p50, "p99", v->p99, "max", v->max, "process_us",
        rival->process_us, "ratio", mgds_bench_rounds_ratio(row, number),
        "validated", rival->validated, "rounds",
        mgds_bench_document_reals(rival->rounds, row->rounds_count));
}

/* What rows of programs with rivals have more. */
static int rivals_add(json_t *line, const struct mgds_bench_end *end,
                      const struct mgds_bench_row *row)
{
    json_t *rivals = json_object();

    if (mgds_bench_document_set(line, "rivals", rivals) < 0 ||
        mgds_bench_document_set(
            line, "rounds",
            mgds_bench_document_reals(row->rounds, row->rounds_count)) < 0)
        return -ENOMEM;
    for (int i = 1; i < end->tracks_count; i++) {
        if (row->rivals[i - 1].measured &&
            mgds_bench_document_set(rivals, end->tracks[i].way->name,
                                    rival_of(row, i - 1)) < 0)
            return -ENOMEM;
    }
    return 0;
}

int mgds_bench_report_rivals(struct mgds_bench_document *document,
                             const struct mgds_bench_end *end)
{
    json_t *rivals = json_object();

    if (mgds_bench_document_set(document->root, "rivals", rivals) < 0)
        return -ENOMEM;
    for (int i = 1; i < end->tracks_count; i++) {
        const struct mgds_bench_track *track = &end->tracks[i];
        json_t *one = json_pack(
            "{s:s? s:o}", "version", track->version[0] ? track->version : NULL,
            "left_out",
            track->lane ? json_null() : mgds_bench_document_text(track->why));

        if (mgds_bench_document_set(rivals, track->way->name, one) < 0)
            return -ENOMEM;
    }
    return 0;
}

int mgds_bench_report_add(struct mgds_bench_document *document,
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

    if (json_array_append_new(document->rows, line) < 0)
        return -ENOMEM;
    if (!latency && mgds_bench_document_set(line, "messages_per_s",
                                            json_real(row->rate)) < 0)
        return -ENOMEM;
    if (spec->metric == MGDS_BENCH_COST &&
        mgds_bench_document_set(line, "process_us",
                                json_real(row->process_us)) < 0)
        return -ENOMEM;
    if (options->copies &&
        (mgds_bench_document_set(line, "d2h_us",
                                 json_real(row->copies.d2h_us)) < 0 ||
         mgds_bench_document_set(line, "h2d_us",
                                 json_real(row->copies.h2d_us)) < 0))
        return -ENOMEM;
    if (spec->enqueued &&
        mgds_bench_document_set(line, "held", json_boolean(row->held)) < 0)
        return -ENOMEM;
    if ((spec->enqueued || spec->collective) && rivals_add(line, end, row) < 0)
        return -ENOMEM;
    if (options->tails_count > 0 &&
        mgds_bench_document_set(line, "percentiles", tails_of(options, row)) <
            0)
        return -ENOMEM;
    return 0;
}
