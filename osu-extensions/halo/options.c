/* One table drives parsing and help. Touches getopt's globals. */
#include "osu-extensions/halo/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>

#include "osu-extensions/halo/args.h"
#include "osu-extensions/number.h"

#define SIZE_MAX_BYTES ((size_t)1 << 30)
#define STEPS_MAX 1000000
#define KERNEL_MAX_US 1000000
#define GPU_MAX 1023

struct parse {
    struct mgds_halo_options *out;
    char *why; /* 256 bytes */
};

struct row {
    const char *name;
    const char *help;
    int (*take)(struct parse *p, const char *value);
    int argument; /* as in struct option */
    int letter;   /* 0: none */
};

__attribute__((format(printf, 2, 3))) static int refuse(struct parse *p,
                                                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(p->why, 256, format, args);
    va_end(args);
    return -EINVAL;
}

static int take_help(struct parse *p, const char *value)
{
    (void)value;
    p->out->action = MGDS_HALO_HELP;
    return 0;
}

static int take_version(struct parse *p, const char *value)
{
    (void)value;
    p->out->action = MGDS_HALO_VERSION;
    return 0;
}

static int number(struct parse *p, const char *option, const char *value,
                  const size_t range[2], size_t *out)
{
    if (mgds_bench_number_parse(value, range[0], range[1], out) == 0)
        return 0;
    return refuse(p, "option %s %.64s: give a number from %zu to %zu", option,
                  value, range[0], range[1]);
}

/* "MAX" alone is one size: a face has no smallest size that is usual. */
static int take_sizes(struct parse *p, const char *value)
{
    const char *at = value;
    size_t low, high;
    int rc = mgds_bench_number_take(&at, &low);

    high = low;
    if (rc == 0 && *at == ':')
        rc = mgds_bench_number_parse(at + 1, 0, SIZE_MAX_BYTES, &high);
    else if (rc == 0 && *at != '\0')
        rc = -EINVAL;
    if (rc < 0 || low < sizeof(uint64_t) || low > high || high > SIZE_MAX_BYTES)
        return refuse(p,
                      "option -m %.64s: give MIN:MAX or SIZE, bytes of a face, "
                      "from 8 to %zu",
                      value, SIZE_MAX_BYTES);
    p->out->min_size = low;
    p->out->max_size = high;
    return 0;
}

static int take_steps(struct parse *p, const char *value)
{
    return number(p, "-i", value, (size_t[]){1, STEPS_MAX}, &p->out->steps);
}

static int take_warmup(struct parse *p, const char *value)
{
    return number(p, "-x", value, (size_t[]){0, STEPS_MAX}, &p->out->warmup);
}

static int take_kernel(struct parse *p, const char *value)
{
    return number(p, "--kernel", value, (size_t[]){0, KERNEL_MAX_US},
                  &p->out->kernel_us);
}

static int take_dims(struct parse *p, const char *value)
{
    size_t dims;
    int rc = number(p, "--dims", value, (size_t[]){1, MGDS_HALO_DIMS}, &dims);

    if (rc == 0)
        p->out->dims = (int)dims;
    return rc;
}

static int take_rounds(struct parse *p, const char *value)
{
    size_t rounds;
    int rc = number(p, "--rounds", value, (size_t[]){1, MGDS_HALO_ROUNDS_MAX},
                    &rounds);

    if (rc == 0)
        p->out->rounds = (int)rounds;
    return rc;
}

static int take_gpu(struct parse *p, const char *value)
{
    size_t gpu;
    int rc = number(p, "--gpu", value, (size_t[]){0, GPU_MAX}, &gpu);

    if (rc == 0)
        p->out->gpu = (int)gpu;
    return rc;
}

static int take_periodic(struct parse *p, const char *value)
{
    (void)value;
    p->out->periodic = true;
    return 0;
}

static int take_variants(struct parse *p, const char *value)
{
    p->out->variants = value;
    return 0;
}

static int take_nccl(struct parse *p, const char *value)
{
    p->out->nccl = value;
    return 0;
}

static int take_json(struct parse *p, const char *value)
{
    p->out->json = value;
    return *value ? 0 : refuse(p, "option --json: name the file to write");
}

static const struct row rows[] = {
    {"help", "print this help", take_help, no_argument, 'h'},
    {"version", "print the version", take_version, no_argument, 'v'},
    {"face-size",
     "MIN:MAX | SIZE  bytes of a face, doubling (default 8192:262144)",
     take_sizes, required_argument, 'm'},
    {"iterations", "N  timed steps a size, back to back (default 500)",
     take_steps, required_argument, 'i'},
    {"warmup", "N  steps ahead of them (default 50)", take_warmup,
     required_argument, 'x'},
    {"dims", "1 | 2 | 3  dimensions of the grid of ranks (default 1)",
     take_dims, required_argument, 0},
    {"periodic", "the last rank of a dimension is the first one's neighbour",
     take_periodic, no_argument, 0},
    {"kernel", "US  length of the step's own kernel (default 4)", take_kernel,
     required_argument, 0},
    {"variants",
     "NAME,...  which ones (default all; a name that is none "
     "lists them)",
     take_variants, required_argument, 0},
    {"rounds", "N  medians of N, variants in turn (default 3)", take_rounds,
     required_argument, 0},
    {"gpu",
     "N  device of every rank (default rank on its host, modulo devices)",
     take_gpu, required_argument, 0},
    {"nccl", "PATH  libnccl.so.2, or its folder", take_nccl, required_argument,
     0},
    {"json", "FILE  write figures and machine facts", take_json,
     required_argument, 0},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define ROW_BASE 1000 /* getopt's val of the first row */

static const struct row *row_of(int found)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (found == ROW_BASE + (int)i || found == rows[i].letter)
            return &rows[i];
    }
    return NULL;
}

static int options_take(struct parse *p, int argc, char **argv)
{
    struct option names[ROWS + 1] = {{0}};
    char letters[2 * ROWS + 2] = ":";
    size_t used = 1;
    int rc = 0;

    for (size_t i = 0; i < ROWS; i++) {
        names[i] = (struct option){rows[i].name, rows[i].argument, NULL,
                                   ROW_BASE + (int)i};
        if (rows[i].letter)
            letters[used++] = (char)rows[i].letter;
        if (rows[i].letter && rows[i].argument == required_argument)
            letters[used++] = ':';
    }
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    while (rc == 0 && p->out->action == MGDS_HALO_RUN) {
        int found = getopt_long(argc, argv, letters, names, NULL);
        const struct row *row = row_of(found);

        if (found < 0)
            break;
        if (row)
            rc = row->take(p, optarg);
        else
            rc = refuse(p, "option %.64s %s; see --help", argv[optind - 1],
                        found == ':' ? "lacks its value" : "is not known");
    }
    if (rc == 0 && p->out->action == MGDS_HALO_RUN && optind < argc)
        rc = refuse(p, "%.64s: no words behind the options", argv[optind]);
    return rc;
}

int mgds_halo_options_init(struct mgds_halo_options *options, int argc,
                           char **argv, char why[256])
{
    struct parse p = {options, why};

    *options = (struct mgds_halo_options){
        .min_size = 8192,
        .max_size = 262144,
        .steps = 500,
        .warmup = 50,
        .kernel_us = 4,
        .dims = 1,
        .rounds = 3,
        .gpu = -1,
    };
    return options_take(&p, argc, argv);
}

void mgds_halo_options_help(FILE *out)
{
    fputs("Usage: osu_halo_enqueue [options]\n\nA step: a kernel, its faces to "
          "and from all neighbours, in stream order.\n\nOptions:\n",
          out);
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];

        fprintf(out, "  %c%c%c --%-14s %s\n", row->letter ? '-' : ' ',
                row->letter ? row->letter : ' ', row->letter ? ',' : ' ',
                row->name, row->help);
    }
    fputs("\nExit status: 0 done, 1 a wrong value or a failure, 2 bad usage\n",
          out);
}
