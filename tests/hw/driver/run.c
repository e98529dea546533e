/* The parent: hands rows to worker processes and gathers what they say. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beyond the worker's own watchdog and its grace. */
#define KILL_AFTER 8
/* A process may take its time to end: CUDA is torn down. */
#define EXIT_SECONDS 60

struct slot {
    pid_t pid; /* 0: empty */
    int order; /* row numbers go there; -1 when no more will */
    int report;
    int left; /* rows this worker may still take */
    struct mgds_result *result;
    struct mgds_clock *clock;
    double began, limit; /* milliseconds */
    double ended;        /* when the row reported its end; 0: not yet */
    double setup_before; /* the row, on the clock */
    char line[2048];
    size_t filled;
};

struct run {
    const struct mgds_options *options;
    struct mgds_result *results;
    int count;
    int *order;
    bool *taken;
    int workers;
    struct slot *slots;
};

void mgds_timelines_add(char **lines, const char *line)
{
    size_t old = *lines ? strlen(*lines) : 0;
    size_t more = strlen(line);
    char *grown = realloc(*lines, old + more + 2);

    if (!grown)
        abort();
    snprintf(grown + old, more + 2, "%s\n", line);
    *lines = grown;
}

void mgds_result_reset(struct mgds_result *result)
{
    free(result->failures);
    free(result->notes);
    free(result->reason);
    *result = (struct mgds_result){.row = result->row};
}

static bool sole(const struct mgds_case *row)
{
    return row->flags & (ALONE | FRESH);
}

/* The next row that was not skipped, or NULL. Rows that want a process of
 * their own are left for a fresh worker (`batched`). */
static struct mgds_result *next_row(struct run *run, bool batched)
{
    for (int i = 0; i < run->count; i++) {
        struct mgds_result *result = &run->results[run->order[i]];

        if (run->taken[i] || result->outcome != NOT_RUN)
            continue;
        if (batched && sole(result->row))
            continue;
        run->taken[i] = true;
        return result;
    }
    return NULL;
}

static int row_index(const struct mgds_case *row)
{
    int i = 0;

    while (mgds_case_at(i) != row)
        i++;
    return i;
}

static void give(struct slot *slot, struct mgds_result *result)
{
    int index = row_index(result->row);
    unsigned seconds =
        result->row->timeout ? result->row->timeout : CASE_SECONDS;

    slot->result = result;
    slot->ended = 0;
    slot->began = mgds_now_ms();
    slot->setup_before = mgds_clock_setup_ms(slot->clock);
    slot->limit = (seconds + KILL_AFTER) * 1e3;
    slot->left--;
    if (write(slot->order, &index, sizeof(index)) != sizeof(index))
        slot->left = 0;
    if (slot->left > 0)
        return;
    close(slot->order);
    slot->order = -1;
}

/* A worker must not hold the ends of others, or they never see the end. */
static void close_slots(struct run *run)
{
    for (int i = 0; i < run->options->jobs; i++) {
        if (!run->slots[i].pid)
            continue;
        close(run->slots[i].report);
        if (run->slots[i].order >= 0)
            close(run->slots[i].order);
    }
}

static void start_worker(struct run *run, struct slot *slot,
                         struct mgds_result *result)
{
    int order[2], report[2];

    fflush(NULL);
    run->workers++;
    mgds_clock_reset(slot->clock);
    if (pipe(order) || pipe(report) || (slot->pid = fork()) < 0) {
        perror("driver-list");
        exit(1);
    }
    if (slot->pid == 0) {
        setpgid(0, 0);
        close_slots(run);
        close(order[1]);
        close(report[0]);
        mgds_worker_main(order[0], report[1], slot->clock);
    }
    setpgid(slot->pid, slot->pid);
    close(order[0]);
    close(report[1]);
    slot->order = order[1];
    slot->report = report[0];
    slot->filled = 0;
    slot->left = sole(result->row) ? 1 : run->options->batch;
    give(slot, result);
}

static double setup_ms(const struct slot *slot)
{
    return mgds_clock_setup_ms(slot->clock) - slot->setup_before;
}

static void finish(struct run *run, struct slot *slot)
{
    struct mgds_result *result = slot->result;
    double end = slot->ended > 0 ? slot->ended : mgds_now_ms();

    slot->result = NULL;
    result->setup_ms = setup_ms(slot);
    result->ms = end - slot->began - result->setup_ms;
    if (result->failures)
        result->outcome = FAILED;
    else
        result->outcome = result->reason ? SKIPPED : PASSED;
    mgds_result_print(result, run->options->seeds > 1);
}

static void take_line(struct run *run, struct slot *slot, char *line)
{
    struct mgds_result *next;

    if (line[0] == 'F')
        mgds_timelines_add(&slot->result->failures, line + 2);
    else if (line[0] == 'N')
        mgds_timelines_add(&slot->result->notes, line + 2);
    else if (line[0] == 'S')
        mgds_timelines_add(&slot->result->reason, line + 2);
    if (line[0] != 'E')
        return;
    slot->ended = mgds_now_ms();
    slot->limit += EXIT_SECONDS * 1e3;
    if (slot->order < 0)
        return;
    next = slot->result->failures ? NULL : next_row(run, true);
    if (!next) {
        close(slot->order);
        slot->order = -1;
        return;
    }
    finish(run, slot);
    give(slot, next);
}

static void take_text(struct run *run, struct slot *slot)
{
    char *end;

    while ((end = memchr(slot->line, '\n', slot->filled))) {
        size_t length = (size_t)(end - slot->line) + 1;

        *end = '\0';
        take_line(run, slot, slot->line);
        slot->filled -= length;
        memmove(slot->line, slot->line + length, slot->filled);
    }
    if (slot->filled == sizeof(slot->line))
        slot->filled = 0;
}

/* The worker is gone: how it went belongs to the row it ran last. */
static void reap(struct run *run, struct slot *slot)
{
    int status = 0;
    char text[100] = "";

    while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    kill(-slot->pid, SIGKILL); /* processes that the case left behind */
    if (WIFSIGNALED(status))
        snprintf(text, sizeof(text), "the process died of signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) && !slot->result->failures)
        snprintf(text, sizeof(text), "the process ended with status %d",
                 WEXITSTATUS(status));
    else if (slot->ended <= 0 && !slot->result->failures)
        snprintf(text, sizeof(text), "the process ended inside the case");
    if (text[0])
        mgds_timelines_add(&slot->result->failures, text);
    finish(run, slot);
    close(slot->report);
    if (slot->order >= 0)
        close(slot->order);
    slot->pid = 0;
}

/* The worker's own watchdog comes first; it may be deaf. */
static bool late(const struct slot *slot)
{
    double spent = setup_ms(slot);

    if (spent > mgds_setup_seconds * 1e3)
        spent = mgds_setup_seconds * 1e3;
    return mgds_now_ms() > slot->began + slot->limit + spent;
}

static void look_at(struct run *run, struct slot *slot, short events)
{
    ssize_t n;

    if (late(slot)) {
        mgds_timelines_add(&slot->result->failures, "timeout: killed");
        slot->limit += 1e9;
        kill(-slot->pid, SIGKILL);
    }
    if (!events)
        return;
    n = read(slot->report, slot->line + slot->filled,
             sizeof(slot->line) - slot->filled);
    if (n <= 0) {
        reap(run, slot);
        return;
    }
    slot->filled += (size_t)n;
    take_text(run, slot);
}

static int fill_slots(struct run *run, struct pollfd *polls)
{
    int busy = 0;

    for (int i = 0; i < run->options->jobs; i++) {
        struct slot *slot = &run->slots[i];
        struct mgds_result *result;

        if (!slot->pid && (result = next_row(run, false)))
            start_worker(run, slot, result);
        polls[i] = (struct pollfd){slot->pid ? slot->report : -1, POLLIN, 0};
        busy += slot->pid != 0;
    }
    return busy;
}

/* Of the order in the table: first what one context serves, then what wants
 * two devices, so that few processes make contexts for both; last what wants
 * a process of its own. */
static int group(const struct mgds_case *row)
{
    if (sole(row))
        return 2;
    return row->needs & (NEED_2DEV | NEED_PEER) ? 1 : 0;
}

static void table_order(struct run *run)
{
    int n = 0;

    for (int g = 0; g < 3; g++)
        for (int i = 0; i < run->count; i++)
            if (group(run->results[i].row) == g)
                run->order[n++] = i;
}

static void drawn_order(struct run *run)
{
    unsigned short state[3] = {0x330e, 0, 0};
    unsigned long seed = run->options->seed;

    for (int i = 0; i < run->count; i++)
        run->order[i] = i;
    state[1] = (unsigned short)seed;
    state[2] = (unsigned short)(seed >> 16);
    for (int i = run->count - 1; i > 0; i--) {
        int j = (int)(nrand48(state) % (i + 1));
        int kept = run->order[i];

        run->order[i] = run->order[j];
        run->order[j] = kept;
    }
}

static void run_start(struct run *run)
{
    size_t count = (size_t)run->count + 1;
    size_t jobs = (size_t)run->options->jobs;

    run->order = calloc(count, sizeof(*run->order));
    run->taken = calloc(count, sizeof(*run->taken));
    run->slots = calloc(jobs, sizeof(*run->slots));
    if (!run->order || !run->taken || !run->slots)
        abort();
    for (size_t i = 0; i < jobs; i++)
        run->slots[i].clock = mgds_clock_new();
    if (run->options->seeds)
        drawn_order(run);
    else
        table_order(run);
}

static void run_end(struct run *run)
{
    for (int i = 0; i < run->options->jobs; i++)
        mgds_clock_free(run->slots[i].clock);
    free(run->order);
    free(run->taken);
    free(run->slots);
}

int mgds_run(const struct mgds_options *options, struct mgds_result *results,
             int count)
{
    struct run run = {.options = options, .results = results, .count = count};
    size_t jobs = (size_t)options->jobs;
    struct pollfd *polls = calloc(jobs, sizeof(*polls));

    if (!polls)
        abort();
    run_start(&run);
    while (fill_slots(&run, polls)) {
        if (poll(polls, (nfds_t)jobs, 500) < 0 && errno != EINTR)
            break;
        for (size_t i = 0; i < jobs; i++)
            if (run.slots[i].pid)
                look_at(&run, &run.slots[i], polls[i].revents);
    }
    free(polls);
    run_end(&run);
    return run.workers;
}
