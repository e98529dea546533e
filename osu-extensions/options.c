/* One table drives parsing, refusals and help. Touches getopt's globals. */
#include "osu-extensions/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "osu-extensions/number.h"
#include "osu-extensions/options_parse.h"

#define SIZE_DEFAULT_MAX (4 << 20)
#define SIZE_LARGE 8192
#define ITERATIONS_MAX 1000000000
#define WINDOW_DEFAULT 64
#define WINDOW_MAX 65536
#define PAIRS_MAX 1000000
#define UNTIMED_MAX 10
#define MEMORY_DEFAULT (1 << 30)
#define MEMORY_MIN (1 << 20)
#define GPU_MAX 1023

struct range {
    size_t low;
    size_t high;
};

/*
 * One option: take stores its value. Letters and long names are OSU's,
 * rows without a letter are ours.
 */
struct row {
    const char *name;
    const char *help;
    int (*take)(struct mgds_bench_parse *p, const char *value);
    int argument; /* as in struct option */
    char letter;
};

int mgds_bench_parse_refuse(struct mgds_bench_parse *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(p->why, 256, format, args);
    va_end(args);
    return -EINVAL;
}

static int take_number(struct mgds_bench_parse *p, char letter,
                       const char *value, struct range range, size_t *out)
{
    if (mgds_bench_number_parse(value, range.low, range.high, out) == 0)
        return 0;
    return mgds_bench_parse_refuse(
        p, "option -%c %.64s: give a number from %zu to %zu", letter, value,
        range.low, range.high);
}

static int take_help(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    p->out->action = MGDS_BENCH_HELP;
    return 0;
}

static int take_version(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    p->out->action = MGDS_BENCH_VERSION;
    return 0;
}

/* "MAX", "MIN:MAX", "MIN:" or ":MAX"; returns 0 or -EINVAL. */
static int sizes_parse(const char *text, size_t *low, size_t *high)
{
    const char *colon = strchr(text, ':');
    const char *at = text;

    if (!colon)
        return mgds_bench_number_parse(text, 0, INT_MAX, high);
    if (colon != text && (mgds_bench_number_take(&at, low) < 0 || at != colon))
        return -EINVAL;
    if (colon[1] == '\0')
        return colon == text ? -EINVAL : 0;
    return mgds_bench_number_parse(colon + 1, 0, INT_MAX, high);
}

static int take_sizes(struct mgds_bench_parse *p, const char *value)
{
    size_t low = p->out->min_size;
    size_t high = p->out->max_size;

    if (sizes_parse(value, &low, &high) < 0)
        return mgds_bench_parse_refuse(
            p, "option -m %.64s: give [MIN:]MAX in bytes, at most %d", value,
            INT_MAX);
    /* "-m 0" alone means the empty message. */
    if (!strchr(value, ':') && high < low)
        low = high;
    if (low > high)
        return mgds_bench_parse_refuse(
            p, "option -m %.64s: MIN %zu is above MAX %zu", value, low, high);
    p->out->min_size = low;
    p->out->max_size = high;
    return 0;
}

static int take_iterations(struct mgds_bench_parse *p, const char *value)
{
    struct mgds_bench_counts *counts = &p->out->counts;
    int rc = take_number(p, 'i', value, (struct range){1, ITERATIONS_MAX},
                         &counts->iterations);

    counts->iterations_large = counts->iterations;
    return rc;
}

static int take_warmup(struct mgds_bench_parse *p, const char *value)
{
    struct mgds_bench_counts *counts = &p->out->counts;
    int rc = take_number(p, 'x', value, (struct range){0, ITERATIONS_MAX},
                         &counts->warmup);

    counts->warmup_large = counts->warmup;
    return rc;
}

static int take_window(struct mgds_bench_parse *p, const char *value)
{
    size_t window;
    int rc = take_number(p, 'W', value, (struct range){1, WINDOW_MAX}, &window);

    if (rc < 0)
        return rc;
    p->out->window = (int)window;
    p->window_given = true;
    return 0;
}

static int take_vary(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    p->out->vary_window = true;
    return 0;
}

static int take_pairs(struct mgds_bench_parse *p, const char *value)
{
    size_t pairs;
    int rc = take_number(p, 'p', value, (struct range){1, PAIRS_MAX}, &pairs);

    if (rc == 0)
        p->out->pairs = (int)pairs;
    return rc;
}

static int take_rate(struct mgds_bench_parse *p, const char *value)
{
    size_t rate;
    int rc = take_number(p, 'R', value, (struct range){0, 1}, &rate);

    if (rc == 0)
        p->out->rate = rate == 1;
    return rc;
}

static int take_memory(struct mgds_bench_parse *p, const char *value)
{
    return take_number(p, 'M', value, (struct range){MEMORY_MIN, SIZE_MAX},
                       &p->out->memory_limit);
}

static int take_column(struct mgds_bench_parse *p, const char *value)
{
    if (value)
        return mgds_bench_parse_refuse(
            p,
            "option -c%.64s: there is no log; give -c, wrong bytes "
            "are named on stderr",
            value);
    p->out->column = true;
    return 0;
}

static int take_untimed(struct mgds_bench_parse *p, const char *value)
{
    size_t untimed;
    int rc =
        take_number(p, 'u', value, (struct range){0, UNTIMED_MAX}, &untimed);

    if (rc == 0)
        p->out->untimed = (int)untimed;
    return rc;
}

static int take_accelerator(struct mgds_bench_parse *p, const char *value)
{
    if (strcasecmp(value, "cuda") != 0)
        return mgds_bench_parse_refuse(
            p, "option -d %.64s: only cuda is known; give -d cuda", value);
    p->out->cuda = true;
    return 0;
}

static int take_type(struct mgds_bench_parse *p, const char *value)
{
    struct mgds_bench_options *o = p->out;

    int first = p->spec->numbers ? MGDS_BENCH_INT : MGDS_BENCH_CHAR;

    if (strcasecmp(value, "all") == 0) {
        o->types_count = 0;
        for (int i = first; i < MGDS_BENCH_TYPES; i++)
            o->types[o->types_count++] = (enum mgds_bench_type)i;
        return 0;
    }
    for (int i = first; i < MGDS_BENCH_TYPES; i++) {
        enum mgds_bench_type type = (enum mgds_bench_type)i;

        if (strcasecmp(value, mgds_bench_type_name(type)) != 0)
            continue;
        o->types[0] = type;
        o->types_count = 1;
        return 0;
    }
    return mgds_bench_parse_refuse(
        p, "option -T %.64s: give all, %smpi_int or mpi_float", value,
        p->spec->numbers ? "" : "mpi_char, ");
}

static int take_ddt(struct mgds_bench_parse *p, const char *value)
{
    mgds_bench_ddt_fini(&p->out->ddt);
    return mgds_bench_ddt_init(&p->out->ddt, value, p->why);
}

static int take_tails(struct mgds_bench_parse *p, const char *value)
{
    struct mgds_bench_options *o = p->out;
    const char *text = value ? value : "50,90,99";

    for (o->tails_count = 0; o->tails_count < MGDS_BENCH_TAILS_MAX; text++) {
        size_t percent;

        if (mgds_bench_number_take(&text, &percent) < 0 || percent < 1 ||
            percent > 99)
            break;
        o->tails[o->tails_count++] = (int)percent;
        if (*text == '\0')
            return 0;
        if (*text != ',')
            break;
    }
    return mgds_bench_parse_refuse(
        p,
        "option -z%.64s: give up to %d percentiles from 1 to 99, "
        "-z50,99",
        value ? value : "", MGDS_BENCH_TAILS_MAX);
}

static int take_buffers(struct mgds_bench_parse *p, const char *value)
{
    bool multiple = strcasecmp(value, "multiple") == 0;

    if (!multiple && strcasecmp(value, "single") != 0)
        return mgds_bench_parse_refuse(
            p, "option -b %.64s: give single or multiple", value);
    p->out->multiple = multiple;
    return 0;
}

static int take_gpu(struct mgds_bench_parse *p, const char *value)
{
    size_t gpu;

    if (mgds_bench_number_parse(value, 0, GPU_MAX, &gpu) < 0)
        return mgds_bench_parse_refuse(
            p, "option --gpu %.64s: give a number from 0 to %d", value,
            GPU_MAX);
    p->out->gpu = (int)gpu;
    return 0;
}

static int take_copies(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    p->out->copies = true;
    return 0;
}

static int take_session(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    p->out->session = true;
    return 0;
}

static int take_papi(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    return mgds_bench_parse_refuse(
        p, "option -P: PAPI counters are not built in; run the "
           "program under perf instead");
}

static int take_graph(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    return mgds_bench_parse_refuse(
        p, "option -G: graphs are not built in; plot from the file "
           "that --json writes");
}

static int take_json(struct mgds_bench_parse *p, const char *value)
{
    if (*value == '\0')
        return mgds_bench_parse_refuse(p,
                                       "option --json: name the file to write");
    p->out->json = value;
    return 0;
}

static const struct row rows[] = {
    {"help", "print this help", take_help, no_argument, 'h'},
    {"version", "print the version", take_version, no_argument, 'v'},
    {"message-size",
     "[MIN:]MAX  message sizes in bytes, doubling (default 1:4194304)",
     take_sizes, required_argument, 'm'},
    {"iterations", "N  timed iterations a size", take_iterations,
     required_argument, 'i'},
    {"warmup", "N  iterations ahead of the timed ones", take_warmup,
     required_argument, 'x'},
    {"window-size", "N  messages in flight an iteration (default 64)",
     take_window, required_argument, 'W'},
    {"vary-window", "a table over windows of 1 to 128 messages", take_vary,
     no_argument, 'V'},
    {"num-pairs", "N  pairs that communicate (default half of the ranks)",
     take_pairs, required_argument, 'p'},
    {"print-rate", "0|1  column of messages a second (default 1)", take_rate,
     required_argument, 'R'},
    {"mem-limit", "BYTES  most buffer memory of one rank (default 1073741824)",
     take_memory, required_argument, 'M'},
    {"validation",
     "column of validation (every message is checked in any case)", take_column,
     optional_argument, 'c'},
    {"validation-warmup",
     "N  untimed iterations after each check (default 1, long messages 0)",
     take_untimed, required_argument, 'u'},
    {"accelerator", "cuda  name the buffers' places in the header",
     take_accelerator, required_argument, 'd'},
    {"buffer-num",
     "single|multiple  sends share memory, or not (default single)",
     take_buffers, required_argument, 'b'},
    {"ddt", "cont | vect:STRIDE:LENGTH | indx:FILE  derived datatype", take_ddt,
     required_argument, 'D'},
    {"type",
     "all | mpi_char | mpi_int | mpi_float  (default the first that it takes)",
     take_type, required_argument, 'T'},
    {"session", "start MPI with MPI_Session_init", take_session, no_argument,
     'I'},
    {"tail-lat", "[P,...]  columns of percentiles (default 50,90,99)",
     take_tails, optional_argument, 'z'},
    {"gpu",
     "N  device of every rank (default rank on its host, modulo devices)",
     take_gpu, required_argument, 0},
    {"copies", "columns of one copy from device to host, and back", take_copies,
     no_argument, 0},
    {"sync", "enqueued: the host waits for each iteration",
     mgds_bench_take_sync, no_argument, 0},
    {"trigger", "auto | kernel | memop  enqueued: sets MPIX_GDS_TRIGGER",
     mgds_bench_take_trigger, required_argument, 0},
    {"rivals", "auto | none | copy,nccl,nvshmem  columns of these",
     mgds_bench_take_rivals, required_argument, 0},
    {"rounds", "N  medians of N (default 1, with rivals 3)",
     mgds_bench_take_rounds, required_argument, 0},
    {"nccl", "PATH  libnccl.so.2, or its folder", mgds_bench_take_nccl,
     required_argument, 0},
    {"nvshmem", "PATH  libnvshmem_host.so.3, or its folder",
     mgds_bench_take_nvshmem, required_argument, 0},
    {"papi", NULL, take_papi, required_argument, 'P'},
    {"graph", NULL, take_graph, required_argument, 'G'},
    {"json", "FILE  write figures and machine facts", take_json,
     required_argument, 0},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Refused letters (no help) are known to all programs. */
static bool row_accepted(const struct row *row,
                         const struct mgds_bench_spec *spec)
{
    return !row->letter || !row->help || strchr(spec->letters, row->letter);
}

/* getopt's view of the table; val is the row's index + 1000. */
#define ROW_BASE 1000

static void getopt_tables(const struct mgds_bench_spec *spec, char *letters,
                          struct option *names)
{
    *letters++ = ':';
    for (size_t i = 0; i < ROWS; i++) {
        if (!row_accepted(&rows[i], spec))
            continue;
        *names++ = (struct option){rows[i].name, rows[i].argument, NULL,
                                   ROW_BASE + (int)i};
        if (!rows[i].letter)
            continue;
        *letters++ = rows[i].letter;
        for (int colons = 0; colons < rows[i].argument; colons++)
            *letters++ = ':';
    }
    *letters = '\0';
    *names = (struct option){0};
}

static const struct row *row_of(int found)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (found == ROW_BASE + (int)i || found == rows[i].letter)
            return &rows[i];
    }
    return NULL;
}

/* What getopt_long could not take, in words. */
static int refuse_unknown(struct mgds_bench_parse *p, int found,
                          char *const argv[])
{
    const char letter[] = {'-', (char)optopt, '\0'};
    const char *name = argv[optind - 1];

    if (optopt > 0 && optopt < ROW_BASE)
        name = letter;
    if (found == ':')
        return mgds_bench_parse_refuse(
            p, "option %.64s lacks its value; see %s --help", name,
            p->spec->name);
    return mgds_bench_parse_refuse(
        p, "option %.64s is not one of %s; see its --help", name,
        p->spec->name);
}

static int kind_take(struct mgds_bench_parse *p, const char *text,
                     enum mgds_bench_kind *out)
{
    for (int i = MGDS_BENCH_HOST; i <= MGDS_BENCH_MANAGED_DEVICE; i++) {
        if (strcmp(text, mgds_bench_kind_name((enum mgds_bench_kind)i)) != 0)
            continue;
        *out = (enum mgds_bench_kind)i;
        return 0;
    }
    return mgds_bench_parse_refuse(p, "buffer kind %.64s: give H, D, MH or MD",
                                   text);
}

static int kinds_take(struct mgds_bench_parse *p, int count,
                      char *const words[])
{
    int rc;

    if (count == 0)
        return 0;
    if (count != 2)
        return mgds_bench_parse_refuse(
            p,
            "%d words behind the options (%.64s ...): give two "
            "buffer kinds, as in H H",
            count, words[0]);
    rc = kind_take(p, words[0], &p->out->kind[0]);
    return rc < 0 ? rc : kind_take(p, words[1], &p->out->kind[1]);
}

static int options_take(struct mgds_bench_parse *p, int argc,
                        char *const argv[])
{
    char letters[3 * ROWS + 2];
    struct option names[ROWS + 1];
    const struct row *row;
    int found;
    int rc = 0;

    getopt_tables(p->spec, letters, names);
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    while (rc == 0 && p->out->action == MGDS_BENCH_RUN) {
        found = getopt_long(argc, argv, letters, names, NULL);
        if (found < 0)
            return kinds_take(p, argc - optind, argv + optind);
        row = found == '?' || found == ':' ? NULL : row_of(found);
        rc = row ? row->take(p, optarg) : refuse_unknown(p, found, argv);
    }
    return rc;
}

int mgds_bench_options_init(struct mgds_bench_options *options,
                            const struct mgds_bench_spec *spec, int argc,
                            char **argv, char why[256])
{
    struct mgds_bench_parse p = {.spec = spec, .out = options, .why = why};
    int rc;

    *options = (struct mgds_bench_options){
        .min_size = 1,
        .max_size = SIZE_DEFAULT_MAX,
        .counts = spec->counts,
        .window = strchr(spec->letters, 'W') ? WINDOW_DEFAULT : 1,
        .rate = spec->metric == MGDS_BENCH_RATE,
        .untimed = -1,
        .gpu = -1,
        .memory_limit = MEMORY_DEFAULT,
        .types_count = 1,
        .enqueued = spec->enqueued,
        .collective = spec->collective,
    };
    if (spec->enqueued)
        options->kind[0] = options->kind[1] = MGDS_BENCH_DEVICE;
    if (spec->numbers)
        options->types[0] = MGDS_BENCH_INT;
    options->multiple = spec->collective;
    rc = options_take(&p, argc, argv);
    if (rc == 0 && options->vary_window && p.window_given)
        rc = mgds_bench_parse_refuse(
            &p, "options -V and -W exclude each other: give one");
    if (rc == 0)
        rc = mgds_bench_rivals_settle(&p);
    if (rc < 0)
        mgds_bench_options_fini(options);
    return rc;
}

void mgds_bench_options_fini(struct mgds_bench_options *options)
{
    mgds_bench_ddt_fini(&options->ddt);
}

void mgds_bench_options_help(FILE *out, const struct mgds_bench_spec *spec)
{
    fprintf(out,
            "Usage: %s [options] [FIRST SECOND]\n\n"
            "FIRST and SECOND say where the buffers of %s lie:\n"
            "H host, D device, MH or MD managed memory on host or device "
            "(default %s).\n\nOptions:\n",
            spec->name,
            spec->collective ? "ranks with an even and an odd number"
                             : "the two ranks of a pair",
            spec->enqueued ? "D D" : "H H");
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];

        if (!row->help || !row_accepted(row, spec))
            continue;
        fprintf(out, "  %c%c%c --%-18s %s\n", row->letter ? '-' : ' ',
                row->letter ? row->letter : ' ', row->letter ? ',' : ' ',
                row->name, row->help);
    }
    fprintf(out,
            "\nDefaults: -i %zu -x %zu, above %d bytes -i %zu -x %zu\n"
            "Exit status: 0 done, 1 a wrong byte or a failure, 2 bad usage\n",
            spec->counts.iterations, spec->counts.warmup, SIZE_LARGE,
            spec->counts.iterations_large, spec->counts.warmup_large);
}

const char *mgds_bench_kind_name(enum mgds_bench_kind kind)
{
    static const char *const names[] = {"H", "D", "MH", "MD"};

    return names[kind];
}

const char *mgds_bench_type_name(enum mgds_bench_type type)
{
    static const char *const names[] = {"MPI_CHAR", "MPI_INT", "MPI_FLOAT"};

    return names[type];
}

size_t mgds_bench_type_size(enum mgds_bench_type type)
{
    static const size_t sizes[] = {sizeof(char), sizeof(int), sizeof(float)};

    return sizes[type];
}

size_t mgds_bench_iterations(const struct mgds_bench_options *o, size_t size)
{
    return size > SIZE_LARGE ? o->counts.iterations_large
                             : o->counts.iterations;
}

size_t mgds_bench_warmup(const struct mgds_bench_options *o, size_t size)
{
    return size > SIZE_LARGE ? o->counts.warmup_large : o->counts.warmup;
}
