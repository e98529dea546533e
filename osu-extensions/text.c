/* The only file that knows how OSU prints. */
#include "osu-extensions/text.h"

#include "osu-extensions/rounds.h"
#include "osu-extensions/way.h"

#define COLUMN_WIDTH 10
#define FIELD_WIDTH 18
#define CELL_WIDTH 10

static void field(const struct mgds_bench_text *text, const char *word)
{
    fprintf(text->out, "%*s", FIELD_WIDTH, word);
}

static void figure(const struct mgds_bench_text *text, double value)
{
    fprintf(text->out, "%*.2f", FIELD_WIDTH, value);
}

void mgds_bench_text_title(const struct mgds_bench_text *text)
{
    const char *suffix = text->options->cuda ? "-CUDA" : "";
    const char *middle = text->spec->title;

    fputs("# ", text->out);
    for (; *middle; middle++) {
        if (middle[0] == '%' && middle[1] == 's') {
            fputs(suffix, text->out);
            middle++;
        } else {
            fputc(*middle, text->out);
        }
    }
    fputs(" v7.4 style, mpix-gds " MGDS_VERSION " (not OSU's program)",
          text->out);
}

static int tracks_of(const struct mgds_bench_text *text)
{
    return text->end ? text->end->tracks_count : 0;
}

static void rivals_header(const struct mgds_bench_text *text)
{
    for (int i = 1; i < tracks_of(text); i++) {
        const struct mgds_bench_track *track = &text->end->tracks[i];

        if (!track->lane)
            fprintf(text->out, "# %s left out: %s\n", track->way->title,
                    track->why);
        else if (track->version[0])
            fprintf(text->out, "# %s %s\n", track->way->title, track->version);
    }
    if (text->options->rounds > 1)
        fprintf(text->out, "# Medians of %d rounds\n", text->options->rounds);
}

void mgds_bench_text_header(const struct mgds_bench_text *text)
{
    const struct mgds_bench_options *o = text->options;

    mgds_bench_text_title(text);
    fputc('\n', text->out);
    if (text->spec->metric == MGDS_BENCH_RATE && o->vary_window)
        fprintf(text->out,
                "# [ pairs: %d ] [ window size: varied ]\n"
                "\n# Uni-directional Bandwidth (MB/sec)\n",
                text->pairs);
    else if (text->spec->metric == MGDS_BENCH_RATE)
        fprintf(text->out, "# [ pairs: %d ] [ window size: %d ]\n", text->pairs,
                o->window);
    rivals_header(text);
    fflush(text->out);
}

/* Two columns each: its figure, and ours by it. */
static void rivals_columns(const struct mgds_bench_text *text)
{
    char word[32];

    for (int i = 1; i < tracks_of(text); i++) {
        if (!text->end->tracks[i].lane)
            continue;
        field(text, text->end->tracks[i].way->title);
        snprintf(word, sizeof(word), "MPI/%s", text->end->tracks[i].way->title);
        field(text, word);
    }
}

static void rivals_row(const struct mgds_bench_text *text,
                       const struct mgds_bench_row *row)
{
    for (int i = 1; i < tracks_of(text); i++) {
        if (!text->end->tracks[i].lane)
            continue;
        if (row->rivals[i - 1].measured) {
            figure(text, row->rivals[i - 1].value.avg);
            figure(text, mgds_bench_rounds_ratio(row, i - 1));
        } else {
            field(text, "-");
            field(text, "-");
        }
    }
}

/* One verdict for all that was compared. */
static bool row_passes(const struct mgds_bench_text *text,
                       const struct mgds_bench_row *row)
{
    bool well = row->validated;

    for (int i = 1; i < tracks_of(text); i++)
        well = well &&
               (!row->rivals[i - 1].measured || row->rivals[i - 1].validated);
    return well;
}

static void value_columns(const struct mgds_bench_text *text)
{
    if (text->spec->metric == MGDS_BENCH_LATENCY)
        field(text, "Avg Latency(us)");
    else if (text->spec->metric == MGDS_BENCH_BANDWIDTH)
        field(text, "Bandwidth (MB/s)");
    else if (text->spec->metric == MGDS_BENCH_COST)
        field(text, "Thread CPU(us)");
    else
        field(text, "MB/s");
    if (text->spec->metric == MGDS_BENCH_COST)
        field(text, "Process CPU(us)");
    if (text->options->rate)
        field(text, "Messages/s");
    rivals_columns(text);
}

void mgds_bench_text_columns(const struct mgds_bench_text *text,
                             enum mgds_bench_type type)
{
    const struct mgds_bench_options *o = text->options;
    char word[32];

    fprintf(text->out, "# Datatype: %s.\n", mgds_bench_type_name(type));
    if (o->cuda && !o->collective)
        fprintf(text->out, "# Send Buffer on %s and Receive Buffer on %s\n",
                mgds_bench_memory_find(o->kind[0])->name,
                mgds_bench_memory_find(o->kind[1])->name);
    if (o->vary_window)
        return;
    fprintf(text->out, "%-*s", COLUMN_WIDTH, "# Size");
    value_columns(text);
    if (o->column)
        field(text, "Validation");
    for (int i = 0; i < o->tails_count; i++) {
        snprintf(word, sizeof(word), "P%d Tail %s", o->tails[i],
                 text->spec->metric == MGDS_BENCH_LATENCY ? "Lat(us)"
                                                          : "BW(MB/s)");
        field(text, word);
    }
    if (o->ddt.kind != MGDS_BENCH_DDT_NONE)
        field(text, "Transmit Size");
    if (o->copies) {
        field(text, "D2H Copy(us)");
        field(text, "H2D Copy(us)");
    }
    fputc('\n', text->out);
    fflush(text->out);
}

void mgds_bench_text_row(const struct mgds_bench_text *text,
                         const struct mgds_bench_row *row)
{
    const struct mgds_bench_options *o = text->options;

    fprintf(text->out, "%-*zu", COLUMN_WIDTH, row->size);
    figure(text, row->value.avg);
    if (text->spec->metric == MGDS_BENCH_COST)
        figure(text, row->process_us);
    if (o->rate)
        figure(text, row->rate);
    rivals_row(text, row);
    if (o->column)
        field(text, row_passes(text, row) ? "Pass" : "Fail");
    for (int i = 0; i < o->tails_count; i++)
        figure(text, row->tails[i]);
    if (o->ddt.kind != MGDS_BENCH_DDT_NONE)
        fprintf(text->out, "%*zu", FIELD_WIDTH, row->bytes);
    if (o->copies) {
        figure(text, row->copies.d2h_us);
        figure(text, row->copies.h2d_us);
    }
    fputc('\n', text->out);
    fflush(text->out);
}

void mgds_bench_text_windows(const struct mgds_bench_text *text,
                             const int *windows, int count)
{
    fputs("#      ", text->out);
    for (int i = 0; i < count; i++)
        fprintf(text->out, "  %*d", CELL_WIDTH, windows[i]);
    mgds_bench_text_line_end(text);
}

void mgds_bench_text_line(const struct mgds_bench_text *text, size_t size)
{
    fprintf(text->out, "%-7zu", size);
}

void mgds_bench_text_cell(const struct mgds_bench_text *text, double value)
{
    fprintf(text->out, "  %*.2f", CELL_WIDTH, value);
}

void mgds_bench_text_line_end(const struct mgds_bench_text *text)
{
    fputc('\n', text->out);
    fflush(text->out);
}

void mgds_bench_text_profile(const struct mgds_bench_text *text,
                             const int *windows, int count)
{
    fputs("\n# Message Rate Profile\n", text->out);
    mgds_bench_text_windows(text, windows, count);
}
