/*
 * From the command line to the exit status. Touches MPI, the environment
 * before MPI starts, and the alarm clock.
 */
#include "tests/enq/enq.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_USAGE = 2, STATUS_SKIPPED = 77 };
enum { LIMIT = 60, LAPS = 50 };

struct enq_job enq = {.level = MPI_THREAD_MULTIPLE};

static struct {
    const char *group;
    unsigned limit; /* seconds of a case */
    bool split;
    bool list;
    char **names; /* of cases that were asked for */
    int names_count;
    int ran;
    char late[256]; /* what the alarm says */
    size_t late_bytes;
} run;

bool enq_split(void)
{
    return run.split;
}

static void on_alarm(int signal)
{
    ssize_t ignored = write(STDERR_FILENO, run.late, run.late_bytes);

    (void)signal;
    (void)ignored;
    _exit(1);
}

static void case_begin(const struct enq_case *one)
{
    int length = snprintf(run.late, sizeof(run.late),
                          "%s: %s: rank %d: not done within %u seconds\n",
                          run.group, one->name, enq.rank, run.limit);

    run.late_bytes = (size_t)length;
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(run.limit);
}

static void case_end(const struct enq_case *one)
{
    int over = 0;

    MPI_Finalized(&over);
    if (!over)
        MPI_Barrier(MPI_COMM_WORLD);
    alarm(0);
    run.ran++;
    if (enq.rank == 0) {
        printf("%s: %s: passed\n", run.group, one->name);
        fflush(stdout);
    }
}

static bool wanted(const struct enq_case *one)
{
    for (int i = 0; i < run.names_count; i++)
        if (strncmp(one->name, run.names[i], strlen(run.names[i])) == 0)
            return true;
    return run.names_count == 0;
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--full] [--warm] [--laps N] [--limit SECONDS] "
            "[--split] [--level single|serialized|multiple] [--list] "
            "[CASE...]\n",
            program);
    return STATUS_USAGE;
}

static unsigned number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    return *end || value > 1000000 ? 0 : (unsigned)value;
}

/* -1: none of them. */
static int level_of(const char *text)
{
    if (strcmp(text, "single") == 0)
        return MPI_THREAD_SINGLE;
    if (strcmp(text, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    return strcmp(text, "multiple") == 0 ? MPI_THREAD_MULTIPLE : -1;
}

static int options_take(int argc, char **argv)
{
    static const struct option names[] = {
        {"full", no_argument, NULL, 'f'},
        {"warm", no_argument, NULL, 'w'},
        {"laps", required_argument, NULL, 'n'},
        {"limit", required_argument, NULL, 'l'},
        {"split", no_argument, NULL, 's'},
        {"level", required_argument, NULL, 't'},
        {"list", no_argument, NULL, 'L'},
        {0},
    };
    int found;

    while ((found = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        if (found == 'f')
            enq.full = true;
        else if (found == 'w')
            enq.warm = true;
        else if (found == 'n')
            enq.laps = (int)number(optarg);
        else if (found == 'l')
            run.limit = number(optarg);
        else if (found == 's')
            run.split = true;
        else if (found == 'L')
            run.list = true;
        else if (found == 't')
            enq.level = level_of(optarg);
        else
            return usage(argv[0]);
    }
    run.names = argv + optind;
    run.names_count = argc - optind;
    return enq.laps > 0 && run.limit > 0 && enq.level >= 0 ? 0 : usage(argv[0]);
}

/* Each name must be the head of some case. */
static int names_check(const struct enq_case *cases)
{
    for (int i = 0; i < run.names_count; i++) {
        const struct enq_case *one = cases;

        while (one->name &&
               strncmp(one->name, run.names[i], strlen(run.names[i])) != 0)
            one++;
        if (!one->name) {
            fprintf(stderr, "%s: no case %s; see --list\n", run.group,
                    run.names[i]);
            return STATUS_USAGE;
        }
    }
    return 0;
}

/* Before anything asks: hydra tells the rank in the environment. */
static int host_choose(void)
{
    const char *rank = getenv("PMI_RANK");

    if (!rank) {
        fprintf(stderr, "%s: --split needs PMI_RANK: use mpiexec.mpich\n",
                run.group);
        return STATUS_USAGE;
    }
    return setenv("MPIX_SIM_HOST", number(rank) % 2 ? "odd" : "even", 1);
}

static int job_open(int *argc, char ***argv)
{
    struct sigaction late = {.sa_handler = on_alarm};
    int64_t active = 0;
    char why[256];
    int provided;

    sigaction(SIGALRM, &late, NULL);
    if (enq.level == MPI_THREAD_SINGLE)
        ENQ_OK(MPI_Init(argc, argv));
    else
        ENQ_OK(MPI_Init_thread(argc, argv, enq.level, &provided));
    ENQ_OK(MPI_Query_thread(&provided));
    CHECK(provided >= enq.level);
    MPI_Comm_rank(MPI_COMM_WORLD, &enq.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &enq.size);
    ENQ_OK(MPIX_Gds_query(MPIX_GDS_ACTIVE, &active));
    CHECK(active == 1);
    enq.device = mgds_test_gpu_open(enq.rank, why);
    if (enq.device >= 0)
        return 0;
    printf("skipped: %s\n", why);
    MPI_Finalize();
    return STATUS_SKIPPED;
}

static int job_close(void)
{
    int over = 0;

    MPI_Finalized(&over);
    if (!over)
        MPI_Finalize();
    if (run.ran == 0) {
        printf("skipped: no case for %d ranks was asked for\n", enq.size);
        return STATUS_SKIPPED;
    }
    if (enq.rank == 0)
        printf("%s: all well, %d cases\n", run.group, run.ran);
    return 0;
}

static void cases_list(const struct enq_case *cases)
{
    for (; cases->name; cases++)
        printf("%s %d\n", cases->name, cases->ranks);
}

int enq_main(int argc, char **argv, const char *group,
             const struct enq_case *cases)
{
    int status;

    run.group = group;
    run.limit = LIMIT;
    enq.laps = LAPS;
    status = options_take(argc, argv);
    if (status == 0)
        status = names_check(cases);
    if (status == 0 && run.split)
        status = host_choose();
    if (status == 0 && run.list) {
        cases_list(cases);
        return 0;
    }
    if (status == 0)
        status = job_open(&argc, &argv);
    if (status != 0)
        return status;
    for (; cases->name; cases++) {
        if (!wanted(cases) || enq.size < cases->ranks)
            continue;
        case_begin(cases);
        cases->run();
        case_end(cases);
    }
    return job_close();
}

int64_t enq_counter(const char *name)
{
    int64_t value = -1;

    ENQ_OK(MPIX_Gds_counter(MPIX_GDS_COUNTER_NAMED, &name, NULL, &value));
    return value;
}

long enq_resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    char text[128];
    char *pages;

    CHECK(file);
    CHECK(fgets(text, sizeof(text), file));
    fclose(file);
    strtol(text, &pages, 10); /* all; behind it the resident ones */
    return strtol(pages, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}
