/* driver-list: what the CUDA driver API does, as a list of named cases that
 * runs on a real device and on the software GPU alike.
 *
 *     ./driver-list --json $OUT/driver.json           on a machine with a GPU
 *     build/bin/mpix-gds-run --sim=gpu build/tests/driver-list    on the sim
 *
 * It needs libc and libcuda.so.1 only, so the one file can be carried.
 * Harmless cases share a process (--batch 1: none does), few processes run at
 * a time: on a real GPU most of the time goes into making contexts.
 * A failing case marked "unsure" is an expectation that no document gives:
 * what the hardware says is right, and the row is to be changed to it.
 * Exit status: 0 all passed, 1 some failed, 77 no driver or no device. */
#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const struct {
    unsigned need;
    const char *words;
} needs[] = {
    {NEED_2DEV, "two devices"},
    {NEED_PEER, "two devices with peer access"},
    {NEED_MEMOPS, "stream memory operations"},
    {NEED_MEMOP64, "64-bit stream memory operations"},
    {NEED_NOR, "the NOR compare of stream waits"},
    {NEED_VMM, "virtual memory management with file handles"},
    {NEED_POOLS, "memory pools"},
    {NEED_MANAGED, "concurrent managed access"},
    {NEED_IPC, "handles across processes"},
    {NEED_KERNELS, "kernels of the list"},
    {NEED_IMAGE, "an image made by nvcc when this was built"},
};

static void usage(FILE *to)
{
    fprintf(to, "usage: driver-list [options]\n"
                "  -l, --list          print the cases that would run\n"
                "  -r, --run PATTERN   only cases whose name contains PATTERN "
                "or matches it (*, ?)\n"
                "  -j, --jobs N        processes at a time (4)\n"
                "  -b, --batch N       harmless cases in one process (24)\n"
                "  -o, --json FILE     write the results there too\n"
                "  -s, --seed N        draw the order by it; also the "
                "software GPU's seed\n"
                "  -n, --seeds N       as many runs, with seeds from --seed "
                "on\n"
                "      --blocked-ms N  time after which a call counts as "
                "blocked (250)\n"
                "      --late-ms N     start threads up to so much late (0)\n"
                "      --setup-s N     seconds a case may take to start CUDA "
                "(120)\n"
                "      --require       no driver or device: fail, do not skip\n"
                "  -h, --help\n");
}

static int positive(const char *option, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (*end || n < 1 || n > 100000) {
        fprintf(stderr,
                "driver-list: %s wants a number from 1 to 100000, "
                "not '%s'\n",
                option, text);
        exit(2);
    }
    return (int)n;
}

static unsigned long seed_number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 0);

    if (*end || !*text) {
        fprintf(stderr, "driver-list: --seed wants a number, not '%s'\n", text);
        exit(2);
    }
    return n;
}

static void parse(int argc, char **argv, struct mgds_options *o)
{
    static const struct option longs[] = {
        {"list", no_argument, NULL, 'l'},
        {"run", required_argument, NULL, 'r'},
        {"jobs", required_argument, NULL, 'j'},
        {"batch", required_argument, NULL, 'b'},
        {"json", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 's'},
        {"seeds", required_argument, NULL, 'n'},
        {"blocked-ms", required_argument, NULL, 'm'},
        {"late-ms", required_argument, NULL, 'e'},
        {"setup-s", required_argument, NULL, 'u'},
        {"require", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "lr:j:b:o:s:n:h", longs, NULL)) != -1) {
        switch (c) {
        case 'l':
            o->list = true;
            break;
        case 'r':
            o->pattern = optarg;
            break;
        case 'j':
            o->jobs = positive("--jobs", optarg);
            break;
        case 'b':
            o->batch = positive("--batch", optarg);
            break;
        case 'o':
            o->json = optarg;
            break;
        case 's':
            o->seed = seed_number(optarg);
            o->seeds = o->seeds ? o->seeds : 1;
            break;
        case 'n':
            o->seeds = positive("--seeds", optarg);
            break;
        case 'm':
            mgds_blocked_ms = positive("--blocked-ms", optarg);
            break;
        case 'e':
            mgds_late_ms = positive("--late-ms", optarg);
            break;
        case 'u':
            mgds_setup_seconds = positive("--setup-s", optarg);
            break;
        case 'q':
            o->require = true;
            break;
        default:
            usage(c == 'h' ? stdout : stderr);
            exit(c == 'h' ? 0 : 2);
        }
    }
}

static bool selected(const struct mgds_options *o, const char *name)
{
    return !o->pattern || strstr(name, o->pattern) ||
           fnmatch(o->pattern, name, 0) == 0;
}

static int select_cases(const struct mgds_options *o,
                        struct mgds_result *results)
{
    int count = 0;

    for (int i = 0; i < mgds_case_count(); i++)
        if (selected(o, mgds_case_at(i)->name))
            results[count++].row = mgds_case_at(i);
    return count;
}

static void skip_unmet(const struct mgds_options *o, unsigned met,
                       struct mgds_result *result)
{
    char text[100];
    unsigned unmet = result->row->needs & ~met;

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (!(unmet & needs[i].need))
            continue;
        snprintf(text, sizeof(text), "needs %s", needs[i].words);
        mgds_timelines_add(&result->reason, text);
        result->outcome = SKIPPED;
        mgds_result_print(result, o->seeds > 1);
        return;
    }
}

static int summary(const struct mgds_options *o,
                   const struct mgds_result *results, int count)
{
    int n[4] = {0};

    for (int i = 0; i < count; i++)
        n[results[i].outcome]++;
    if (o->seeds > 1)
        printf("seed %lu: ", o->seed);
    printf("%d passed, %d failed, %d skipped\n", n[PASSED],
           n[FAILED] + n[NOT_RUN], n[SKIPPED]);
    return n[FAILED] + n[NOT_RUN] ? 1 : 0;
}

/* Set-up of processes at the same time adds up. */
static void print_times(const struct mgds_result *results, int count,
                        int workers, double ms)
{
    double setup = 0;

    for (int i = 0; i < count; i++)
        setup += results[i].setup_ms;
    printf("%d processes, %.1f s, set-up %.1f s a process\n", workers, ms / 1e3,
           workers ? setup / 1e3 / workers : 0);
}

static int run_once(const struct mgds_options *o,
                    const struct mgds_machine *machine,
                    struct mgds_result *results, int count)
{
    char seed[32];
    double began = mgds_now_ms();
    int workers;

    snprintf(seed, sizeof(seed), "%lu", o->seed);
    if (o->seeds)
        setenv("MPIX_SIM_SEED", seed, 1);
    for (int i = 0; i < count; i++) {
        mgds_result_reset(&results[i]);
        skip_unmet(o, machine->needs, &results[i]);
    }
    workers = mgds_run(o, results, count);
    if (o->seeds <= 1)
        print_times(results, count, workers, mgds_now_ms() - began);
    if (o->json && mgds_results_write(o->json, machine, results, count))
        return 1;
    return summary(o, results, count);
}

static void gather_failed(char **failed, unsigned long seed,
                          const struct mgds_result *results, int count)
{
    char text[1200];

    for (int i = 0; i < count; i++) {
        const struct mgds_result *result = &results[i];
        const char *first = result->failures ? result->failures : "\n";

        if (result->outcome != FAILED && result->outcome != NOT_RUN)
            continue;
        snprintf(text, sizeof(text), "seed %lu: %s: %.*s", seed,
                 result->row->name, (int)strcspn(first, "\n"), first);
        mgds_timelines_add(failed, text);
    }
}

/* Who reads the end of a long log alone must see what failed. */
static void print_failed(char *failed)
{
    if (failed)
        printf("failed:\n%s", failed);
    free(failed);
}

static int run_all(struct mgds_options *o, struct mgds_result *results,
                   int count)
{
    static struct mgds_machine machine;
    int rc, runs = o->seeds ? o->seeds : 1;
    char *failed = NULL;

    mgds_machine_probe(&machine);
    if (machine.why[0]) {
        printf("driver-list: %s\n", machine.why);
        return o->require ? 1 : 77;
    }
    printf("%s", machine.facts);
    rc = run_once(o, &machine, results, count);
    while (--runs > 0) {
        gather_failed(&failed, o->seed++, results, count);
        rc |= run_once(o, &machine, results, count);
    }
    if (o->seeds > 1) {
        gather_failed(&failed, o->seed, results, count);
        print_failed(failed);
    }
    return rc;
}

static int list(const struct mgds_result *results, int count)
{
    for (int i = 0; i < count; i++)
        puts(results[i].row->name);
    return 0;
}

int main(int argc, char **argv)
{
    struct mgds_options o = {.jobs = 4, .batch = 24};
    struct mgds_result *results;
    int count, rc;

    parse(argc, argv, &o);
    results = calloc((size_t)mgds_case_count() + 1, sizeof(*results));
    if (!results)
        return 1;
    count = select_cases(&o, results);
    if (count) {
        rc = o.list ? list(results, count) : run_all(&o, results, count);
    } else {
        fprintf(stderr,
                "driver-list: no case matches '%s'; --list shows them\n",
                o.pattern);
        rc = 2;
    }
    for (int i = 0; i < count; i++)
        mgds_result_reset(&results[i]);
    free(results);
    return rc;
}
