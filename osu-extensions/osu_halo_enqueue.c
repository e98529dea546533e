/*
 * The step of a program with neighbours, in stream order: a kernel, its faces
 * packed where they do not lie in a row, exchanged, unpacked; by every variant
 * of halo/variants.c in turn. All decisions are made alike on all ranks.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "osu-extensions/document.h"
#include "osu-extensions/halo/output.h"

#define STATUS_DONE 0
#define STATUS_WRONG 1
#define STATUS_USAGE 2

struct program {
    struct mgds_halo halo;
    struct mgds_halo_options options;
    struct mgds_halo_run run;
    struct mgds_bench_document *report; /* rank 0 with --json only */
    int argc;
    char **argv;
};

/* One line from rank 0. */
__attribute__((format(printf, 2, 3))) static int refuse(const struct program *p,
                                                        const char *format, ...)
{
    va_list args;

    if (p->halo.world.rank == 0) {
        va_start(args, format);
        fputs("osu_halo_enqueue: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
    }
    return STATUS_USAGE;
}

static int report_open(struct program *p)
{
    int rc = 0;

    if (!p->options.json)
        return STATUS_DONE;
    if (p->halo.world.rank == 0)
        rc = mgds_bench_document_create(&p->report, p->options.json);
    MPI_Bcast(&rc, 1, MPI_INT, 0, p->halo.world.comm);
    if (rc < 0)
        return refuse(p, "option --json: cannot write %s: %s", p->options.json,
                      strerror(-rc));
    rc = mgds_halo_report_describe(p->report, &p->run, p->argc, p->argv);
    mgds_halo_must(&p->halo, rc, "--json");
    return STATUS_DONE;
}

/* The same on all ranks. */
static bool row_validated(const struct mgds_halo_row *row)
{
    bool well = true;

    for (int i = 0; i < MGDS_HALO_VARIANTS; i++)
        well =
            well && (!row->outcomes[i].measured || row->outcomes[i].validated);
    return well;
}

static int row_run(struct program *p)
{
    struct mgds_halo_row row;
    int rc = 0;

    mgds_halo_measure(&p->run, &row);
    if (p->halo.world.rank == 0)
        mgds_halo_print_row(&p->run, &row);
    if (p->report)
        rc = mgds_halo_report_add(p->report, &p->run, &row);
    mgds_halo_must(&p->halo, rc, "--json");
    return row_validated(&row) ? STATUS_DONE : STATUS_WRONG;
}

static int rows_run(struct program *p)
{
    const struct mgds_halo_options *o = &p->options;
    int status = STATUS_DONE;

    if (p->halo.world.rank == 0)
        mgds_halo_print_header(&p->run);
    for (size_t size = o->min_size;
         size <= o->max_size && status == STATUS_DONE; size *= 2) {
        if (mgds_halo_size(&p->halo, o, size) == 0)
            status = row_run(p);
    }
    return status;
}

static int report_close(struct program *p)
{
    int rc = p->report ? mgds_halo_report_finish(p->report, &p->run) : 0;

    if (rc == 0)
        return STATUS_DONE;
    fprintf(stderr, "osu_halo_enqueue: option --json: cannot write %s: %s\n",
            p->options.json, strerror(-rc));
    return STATUS_WRONG;
}

static int program_run(struct program *p)
{
    char why[256] = "";
    int rc = mgds_halo_init(&p->halo, &p->options, why);
    int worst = mgds_bench_world_worst(&p->halo.world, rc, why);
    int status, closed;

    if (worst >= 0)
        return refuse(p, "rank %d: %s", worst, why);
    rc = mgds_halo_run_init(&p->run, &p->halo, &p->options, why);
    if (rc < 0)
        return refuse(p, "%s", why);
    status = report_open(p);
    if (status != STATUS_DONE)
        return status;
    status = rows_run(p);
    closed = report_close(p);
    return status != STATUS_DONE ? status : closed;
}

static int answer(struct program *p)
{
    bool root = p->halo.world.rank == 0;
    int status;

    if (p->options.action == MGDS_HALO_RUN) {
        status = program_run(p);
        mgds_halo_fini(&p->halo);
        return status;
    }
    if (root && p->options.action == MGDS_HALO_HELP)
        mgds_halo_options_help(stdout);
    if (root && p->options.action == MGDS_HALO_VERSION)
        puts(MGDS_HALO_TITLE);
    return STATUS_DONE;
}

int main(int argc, char **argv)
{
    static struct program p; /* too large for a stack */
    char why[256];
    int parsed = mgds_halo_options_init(&p.options, argc, argv, why);
    int status;

    mgds_bench_world_init(&p.halo.world, false, &argc, &argv);
    p.argc = argc;
    p.argv = argv;
    setvbuf(stdout, NULL, _IOLBF, 0); /* whole lines, also through mpiexec */
    status = parsed == 0 ? answer(&p) : refuse(&p, "%s", why);
    mgds_bench_world_fini(&p.halo.world);
    return status;
}
