/* Threads held by ptrace; see keeper.h. */
#include "tests/enq/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"

#define PATIENCE_NS 10000000000u

enum { TEXT = 256 };

/* Threads of GPUs: of the software GPU and HCA, and of the CUDA driver, which
 * has two ("cuda-EvtHandlr" and one with a number, on H100s). */
static const char *const gpu_names[] = {"mpix-sim-", "cuda"};

/* The first line of a file of a thread's; false: the thread is gone. */
static bool read_line(pid_t process, pid_t id, const char *file,
                      char text[TEXT])
{
    FILE *in;

    snprintf(text, TEXT, "/proc/%d/task/%d/%s", process, id, file);
    in = fopen(text, "re");
    if (!in)
        return false;
    if (!fgets(text, TEXT, in))
        text[0] = '\0';
    fclose(in);
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

static bool is_of_gpu(const char *name)
{
    for (size_t i = 0; i < sizeof(gpu_names) / sizeof(*gpu_names); i++)
        if (strncmp(name, gpu_names[i], strlen(gpu_names[i])) == 0)
            return true;
    return false;
}

/* Waits for a condition have a timeout or a bit set, even if it is none; those
 * for a mutex have not, and who waits for one may have another. A sleep with a
 * timeout that was stopped before goes on as restart_syscall. */
static bool waits_for_event(long call, long operation)
{
    switch (call) {
    case SYS_futex:
        return (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_select:
    case SYS_pselect6:
    case SYS_read:
    case SYS_wait4:
    case SYS_nanosleep:
    case SYS_restart_syscall:
    case SYS_clock_nanosleep:
        return true;
    default:
        return false;
    }
}

/* Whether the call that a stopped thread is in waits for an event. */
static bool is_asleep(const struct keeper_thread *thread)
{
    char text[TEXT], *at;
    long call, operation;

    if (!read_line(thread->process, thread->id, "syscall", text))
        return false;
    call = strtol(text, &at, 10);
    strtol(at, &at, 16); /* the first argument */
    operation = (long)strtoul(at, NULL, 16);
    return at != text && waits_for_event(call, operation);
}

static struct keeper_thread *find(struct keeper *keeper, pid_t id)
{
    for (int i = 0; i < keeper->count; i++)
        if (keeper->thread[i].id == id)
            return &keeper->thread[i];
    return NULL;
}

static void drop(struct keeper *keeper, struct keeper_thread *thread)
{
    *thread = keeper->thread[--keeper->count];
}

/* A thread that is about to end is none of the process's. */
static int trace(struct keeper *keeper, pid_t process, pid_t id,
                 const char *name)
{
    struct keeper_thread *thread = &keeper->thread[keeper->count];

    if (keeper->count == KEEPER_THREADS)
        return -ENOSPC;
    if (ptrace(PTRACE_SEIZE, id, NULL, NULL) < 0)
        return errno == ESRCH ? 0 : -errno;
    *thread = (struct keeper_thread){.process = process, .id = id};
    snprintf(thread->name, sizeof(thread->name), "%.*s", KEEPER_NAME - 1, name);
    keeper->count++;
    return 1;
}

static int trace_one(struct keeper *keeper, pid_t process, pid_t id)
{
    char name[TEXT];

    if (find(keeper, id) || !read_line(process, id, "comm", name) ||
        is_of_gpu(name))
        return 0;
    return trace(keeper, process, id, name);
}

/* Traces threads that it does not know yet: how many, or negative errno. */
static int trace_new(struct keeper *keeper, pid_t process)
{
    const struct dirent *entry;
    char folder[TEXT];
    int found = 0, rc = 0;
    DIR *tasks;

    snprintf(folder, sizeof(folder), "/proc/%d/task", process);
    tasks = opendir(folder);
    if (!tasks)
        return -errno;
    while (rc >= 0 && (entry = readdir(tasks))) {
        if (entry->d_name[0] == '.')
            continue;
        rc = trace_one(keeper, process, (pid_t)strtol(entry->d_name, NULL, 10));
        found += rc > 0;
    }
    closedir(tasks);
    return rc < 0 ? rc : found;
}

/* Stops it; false: it has ended. A signal that comes first goes on its way. */
static bool stop(const struct keeper_thread *thread)
{
    int status;

    if (ptrace(PTRACE_INTERRUPT, thread->id, NULL, NULL) < 0)
        return false;
    for (;;) {
        if (waitpid(thread->id, &status, __WALL) != thread->id ||
            !WIFSTOPPED(status))
            return false;
        if (status >> 16 == PTRACE_EVENT_STOP)
            return true;
        ptrace(PTRACE_CONT, thread->id, NULL, (long)WSTOPSIG(status));
    }
}

/* One that was seized before it had a name may be the GPU's. */
static void hold_one(struct keeper *keeper, struct keeper_thread *thread)
{
    char name[TEXT];

    if (!stop(thread) ||
        !read_line(thread->process, thread->id, "comm", name)) {
        drop(keeper, thread);
    } else if (is_of_gpu(name)) {
        ptrace(PTRACE_DETACH, thread->id, NULL, NULL);
        drop(keeper, thread);
    } else if (is_asleep(thread)) {
        snprintf(thread->name, sizeof(thread->name), "%.*s", KEEPER_NAME - 1,
                 name);
        thread->held = true;
    } else {
        ptrace(PTRACE_CONT, thread->id, NULL, NULL);
    }
}

/* How many run still. From the last on, since drop moves the last one. */
static int hold_some(struct keeper *keeper)
{
    int running = 0;

    for (int i = keeper->count - 1; i >= 0; i--)
        if (!keeper->thread[i].held)
            hold_one(keeper, &keeper->thread[i]);
    for (int i = 0; i < keeper->count; i++)
        running += !keeper->thread[i].held;
    return running;
}

static void complain(const struct keeper *keeper)
{
    char text[TEXT];

    for (int i = 0; i < keeper->count; i++) {
        const struct keeper_thread *thread = &keeper->thread[i];

        if (!thread->held &&
            read_line(thread->process, thread->id, "syscall", text))
            fprintf(stderr, "keeper: thread %d (%s) does not sleep: %s\n",
                    thread->id, thread->name, text);
    }
}

/* Held threads start none: once no other one is left and none is new, all are
 * known. */
int keeper_hold(struct keeper *keeper, pid_t process)
{
    uint64_t begin = mgds_clock_ns();
    int fresh, running;

    do {
        fresh = trace_new(keeper, process);
        if (fresh < 0)
            return fresh;
        running = hold_some(keeper);
        if (running > 0)
            sched_yield();
    } while ((fresh > 0 || running > 0) &&
             mgds_clock_ns() - begin < PATIENCE_NS);
    if (fresh == 0 && running == 0)
        return 0;
    complain(keeper);
    return -ETIMEDOUT;
}

/* By the state behind the name, which may hold anything but a slash. */
static bool is_stopped(const struct keeper_thread *thread)
{
    char text[TEXT];
    const char *end;

    if (!read_line(thread->process, thread->id, "stat", text))
        return false;
    end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 't';
}

int keeper_held(const struct keeper *keeper, pid_t process, const char *name)
{
    int held = 0;

    for (int i = 0; i < keeper->count; i++) {
        const struct keeper_thread *thread = &keeper->thread[i];

        if (thread->process != process)
            continue;
        if (!is_stopped(thread))
            return -1;
        held += !name || strcmp(thread->name, name) == 0;
    }
    return held;
}

void keeper_release(struct keeper *keeper)
{
    for (int i = 0; i < keeper->count; i++)
        ptrace(PTRACE_DETACH, keeper->thread[i].id, NULL, NULL);
    keeper->count = 0;
}

void keeper_allow(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/* The status of the child is the errno. */
int keeper_refused(void)
{
    pid_t parent = getpid(), child;
    int status;

    keeper_allow();
    child = fork();
    if (child < 0)
        return errno;
    if (child == 0)
        _exit(ptrace(PTRACE_SEIZE, parent, NULL, NULL) < 0 ? errno : 0);
    if (waitpid(child, &status, 0) != child)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}
