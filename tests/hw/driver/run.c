/* The parent: hands rows to worker processes and gathers what they say. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Beyond the worker's own watchdog and its grace. */
#define KILL_AFTER 8

struct slot {
    pid_t pid; /* 0: empty */
    int order; /* row numbers go there; -1 when no more will */
    int report;
    int left; /* rows this worker may still take */
    struct mgds_result *result;
    double began, deadline; /* milliseconds, monotonic */
    bool ended;             /* the row has reported its end */
    char line[2048];
    size_t filled;
};

struct run {
    const struct mgds_options *options;
    struct mgds_result *results;
    int count;
    int next;
    int *order;
    struct slot *slots;
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void mgds_lines_add(char **lines, const char *line)
{
    size_t old = *lines ? strlen(*lines) : 0;
    size_t more = strlen(line);
    char *grown = realloc(*lines, old + more + 2);

    if (!grown)
        abort();
    memcpy(grown + old, line, more);
    memcpy(grown + old + more, "\n", 2);
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
    struct mgds_result *result;

    while (run->next < run->count &&
           run->results[run->order[run->next]].outcome != NOT_RUN)
        run->next++;
    if (run->next == run->count)
        return NULL;
    result = &run->results[run->order[run->next]];
    if (batched && sole(result->row))
        return NULL;
    run->next++;
    return result;
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
    slot->ended = false;
    slot->began = now_ms();
    slot->deadline = slot->began + (seconds + KILL_AFTER) * 1e3;
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
    if (pipe(order) || pipe(report) || (slot->pid = fork()) < 0) {
        perror("driver-list");
        exit(1);
    }
    if (slot->pid == 0) {
        setpgid(0, 0);
        close_slots(run);
        close(order[1]);
        close(report[0]);
        mgds_worker_main(order[0], report[1]);
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

static void finish(struct run *run, struct slot *slot)
{
    struct mgds_result *result = slot->result;

    slot->result = NULL;
    result->ms = now_ms() - slot->began;
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
        mgds_lines_add(&slot->result->failures, line + 2);
    else if (line[0] == 'N')
        mgds_lines_add(&slot->result->notes, line + 2);
    else if (line[0] == 'S')
        mgds_lines_add(&slot->result->reason, line + 2);
    if (line[0] != 'E')
        return;
    slot->ended = true;
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
    else if (!slot->ended && !slot->result->failures)
        snprintf(text, sizeof(text), "the process ended inside the case");
    if (text[0])
        mgds_lines_add(&slot->result->failures, text);
    finish(run, slot);
    close(slot->report);
    if (slot->order >= 0)
        close(slot->order);
    slot->pid = 0;
}

static void look_at(struct run *run, struct slot *slot, short events)
{
    ssize_t n;

    if (now_ms() > slot->deadline) {
        mgds_lines_add(&slot->result->failures, "timeout: killed");
        slot->deadline += 1e9;
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

/* Table order, or one drawn from the seed. */
static void draw_order(struct run *run)
{
    unsigned short state[3] = {0x330e, 0, 0};
    unsigned long seed = run->options->seed;

    for (int i = 0; i < run->count; i++)
        run->order[i] = i;
    if (!run->options->seeds)
        return;
    state[1] = (unsigned short)seed;
    state[2] = (unsigned short)(seed >> 16);
    for (int i = run->count - 1; i > 0; i--) {
        int j = (int)(nrand48(state) % (i + 1));
        int kept = run->order[i];

        run->order[i] = run->order[j];
        run->order[j] = kept;
    }
}

void mgds_run(const struct mgds_options *options, struct mgds_result *results,
              int count)
{
    struct run run = {.options = options, .results = results, .count = count};
    size_t jobs = (size_t)options->jobs;
    struct pollfd *polls = calloc(jobs, sizeof(*polls));

    run.order = calloc((size_t)count + 1, sizeof(*run.order));
    run.slots = calloc(jobs, sizeof(*run.slots));
    if (!polls || !run.order || !run.slots)
        abort();
    draw_order(&run);
    while (fill_slots(&run, polls)) {
        if (poll(polls, (nfds_t)jobs, 500) < 0 && errno != EINTR)
            break;
        for (size_t i = 0; i < jobs; i++)
            if (run.slots[i].pid)
                look_at(&run, &run.slots[i], polls[i].revents);
    }
    free(polls);
    free(run.order);
    free(run.slots);
}
