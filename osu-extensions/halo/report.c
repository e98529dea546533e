/* The JSON of osu_halo_enqueue. */
#include <errno.h>

#include "osu-extensions/document.h"
#include "osu-extensions/halo/output.h"

#define SCHEMA "mpix-gds/halo/1"

static json_t *options_of(const struct mgds_halo_run *run)
{
    const struct mgds_halo_options *o = run->options;
    json_t *grid = json_array();

    for (int d = 0; d < o->dims; d++)
        json_array_append_new(grid, json_integer(run->halo->grid[d]));
    return json_pack("{s:[I I] s:I s:I s:o s:b s:I s:i s:i}", "face_size",
                     (json_int_t)o->min_size, (json_int_t)o->max_size, "steps",
                     (json_int_t)o->steps, "warmup", (json_int_t)o->warmup,
                     "grid", grid, "periodic", o->periodic, "kernel_us",
                     (json_int_t)o->kernel_us, "rounds", o->rounds, "gpu",
                     o->gpu);
}

int mgds_halo_report_describe(struct mgds_bench_document *document,
                              const struct mgds_halo_run *run, int argc,
                              char **argv)
{
    struct mgds_bench_machine machine;
    int rc;

    mgds_bench_machine_init(&machine, run->halo->world.comm);
    if (!document)
        return 0;
    rc = mgds_bench_document_describe(document, SCHEMA, "osu_halo_enqueue",
                                      &machine, argc, argv);
    return rc < 0 ? rc
                  : mgds_bench_document_set(document->root, "options",
                                            options_of(run));
}

static json_t *outcome_of(const struct mgds_halo_row *row, int variant)
{
    const struct mgds_halo_outcome *outcome = &row->outcomes[variant];

    return json_pack("{s:f s:f s:f s:f s:f s:b}", "step_us", outcome->step_us,
                     "step_by_nccl", mgds_halo_by_nccl(row, variant), "cpu_us",
                     outcome->cpu_us, "calls_us",
                     mgds_halo_call_us(row, variant), "calls_by_nccl",
                     mgds_halo_call_by_nccl(row, variant), "validated",
                     outcome->validated);
}

int mgds_halo_report_add(struct mgds_bench_document *document,
                         const struct mgds_halo_run *run,
                         const struct mgds_halo_row *row)
{
    json_t *variants = json_object();
    json_t *line = json_pack("{s:I s:f s:o}", "face", (json_int_t)row->size,
                             "kernel_us", row->kernel_us, "variants", variants);

    if (json_array_append_new(document->rows, line) < 0)
        return -ENOMEM;
    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        json_t *one;

        if (!row->outcomes[i].measured)
            continue;
        one = outcome_of(row, i);
        if (mgds_bench_document_set(
                one, "rounds_us",
                mgds_bench_document_reals(row->outcomes[i].rounds,
                                          run->options->rounds)) < 0 ||
            mgds_bench_document_set(variants, mgds_halo_variants[i]->name,
                                    one) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Who is measured, or why not. */
static json_t *variants_of(const struct mgds_halo_run *run)
{
    json_t *variants = json_object();

    for (int i = 0; i < MGDS_HALO_VARIANTS; i++) {
        const struct mgds_halo_track *track = &run->tracks[i];
        json_t *left_out;

        if (!track->chosen)
            continue;
        left_out =
            track->here ? json_null() : mgds_bench_document_text(track->why);
        mgds_bench_document_set(
            variants, track->variant->name,
            json_pack("{s:s s:s? s:o}", "title", track->variant->title,
                      "version", track->version[0] ? track->version : NULL,
                      "left_out", left_out));
    }
    return variants;
}

int mgds_halo_report_finish(struct mgds_bench_document *document,
                            const struct mgds_halo_run *run)
{
    int rc =
        mgds_bench_document_set(document->root, "variants", variants_of(run));
    int ended = mgds_bench_document_end(document);

    return rc < 0 ? rc : ended;
}
