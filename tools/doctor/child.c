/* An external command under a time limit. One loop waits for everything that
 * can happen: output, the child's end, a signal to us, the time. */
#include "tools/doctor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    MGDS_GRACE_MS = 3000, /* between SIGTERM and SIGKILL: launchers clean up */
    MGDS_DRAIN_MS = 1000  /* for output still in the pipes at the end */
};

/* What the command is being allowed to do until the deadline. */
enum phase { PHASE_RUN, PHASE_TERMINATE, PHASE_KILL, PHASE_DRAIN, PHASE_OVER };

enum { FD_OUT, FD_ERR, FD_SIGNAL, FD_COUNT };

struct run {
    struct mgds_child *child;
    struct pollfd fd[FD_COUNT];
    int write_end[2]; /* of FD_OUT and FD_ERR, the command's */
    int input[2];     /* a pipe that stays open and empty */
    pid_t pid;
    bool ended;
    enum phase phase;
    long long deadline; /* ms, monotonic */
    sigset_t old_mask;
};

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_all(struct run *run)
{
    for (int i = 0; i < FD_COUNT; i++)
        close_fd(&run->fd[i].fd);
    close_fd(&run->write_end[0]);
    close_fd(&run->write_end[1]);
    close_fd(&run->input[0]);
    close_fd(&run->input[1]);
}

static int open_pipe(struct run *run, int which)
{
    int end[2];

    if (pipe2(end, O_CLOEXEC) < 0)
        return -errno;
    run->fd[which].fd = end[0];
    run->write_end[which] = end[1];
    if (fcntl(end[0], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

static int open_signals(struct run *run)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP); /* of a connection that breaks off */
    sigaddset(&set, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &set, &run->old_mask); /* cannot fail */
    run->fd[FD_SIGNAL].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->fd[FD_SIGNAL].fd < 0 ? -errno : 0;
}

static int open_all(struct run *run)
{
    int rc = open_signals(run);

    if (rc == 0 && pipe2(run->input, O_CLOEXEC) < 0)
        rc = -errno;
    if (rc == 0)
        rc = open_pipe(run, FD_OUT);
    if (rc == 0)
        rc = open_pipe(run, FD_ERR);
    for (int i = 0; i < FD_COUNT; i++)
        run->fd[i].events = POLLIN;
    return rc;
}

static int spawn(struct run *run, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc != 0)
        return -rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc != 0)
        goto destroy_actions;
    /* These fail for lack of memory only, and then so does the spawn.
     * Not /dev/null: at the end of its input Hydra tells its proxy so, and dies
     * of it (SIGPIPE) if a short job is over by then. */
    posix_spawn_file_actions_adddup2(&actions, run->input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, run->write_end[FD_OUT], 1);
    posix_spawn_file_actions_adddup2(&actions, run->write_end[FD_ERR], 2);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &run->old_mask);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawnp(&run->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
destroy_actions:
    posix_spawn_file_actions_destroy(&actions);
    return -rc;
}

static int keep(struct mgds_child_output *output, const char *bytes,
                size_t size)
{
    char *grown;

    if (output->size + size > output->most) {
        output->cut = true;
        return 0;
    }
    grown = realloc(output->text, output->size + size + 1);
    if (!grown)
        return -ENOMEM;
    output->text = grown;
    memcpy(grown + output->size, bytes, size);
    output->size += size;
    grown[output->size] = '\0';
    return 0;
}

/* Reads once, for a command that never stops writing must not keep us here;
 * at the end of file the descriptor is closed. */
static int read_output(int *fd, struct mgds_child_output *output)
{
    char buffer[65536];
    ssize_t got = read(*fd, buffer, sizeof(buffer));

    if (got == 0)
        close_fd(fd);
    return got > 0 ? keep(output, buffer, (size_t)got) : 0;
}

static void enter(struct run *run, enum phase phase, int milliseconds)
{
    run->phase = phase;
    run->deadline = now_ms() + milliseconds;
}

static void stop(struct run *run)
{
    kill(-run->pid, SIGTERM);
    enter(run, PHASE_TERMINATE, MGDS_GRACE_MS);
}

static void take_end(struct run *run)
{
    if (run->ended || waitpid(run->pid, &run->child->status, WNOHANG) <= 0)
        return;
    run->ended = true;
    if (run->phase != PHASE_RUN)
        kill(-run->pid, SIGKILL); /* what a stopped launcher left behind */
    enter(run, PHASE_DRAIN, MGDS_DRAIN_MS);
}

static void take_signals(struct run *run)
{
    struct signalfd_siginfo info;

    while (read(run->fd[FD_SIGNAL].fd, &info, sizeof(info)) ==
           (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            take_end(run);
            continue;
        }
        run->child->interrupted = (int)info.ssi_signo;
        if (run->phase == PHASE_RUN)
            stop(run);
    }
}

static void take_timeout(struct run *run)
{
    switch (run->phase) {
    case PHASE_RUN:
        run->child->timed_out = true;
        stop(run);
        break;
    case PHASE_TERMINATE:
        kill(-run->pid, SIGKILL);
        enter(run, PHASE_KILL, MGDS_GRACE_MS);
        break;
    default:
        run->phase = PHASE_OVER; /* somebody else holds the pipe: leave them */
    }
}

static int take_events(struct run *run)
{
    int rc = 0;

    if (run->fd[FD_SIGNAL].revents)
        take_signals(run);
    if (run->fd[FD_OUT].revents)
        rc = read_output(&run->fd[FD_OUT].fd, &run->child->out);
    if (rc == 0 && run->fd[FD_ERR].revents)
        rc = read_output(&run->fd[FD_ERR].fd, &run->child->err);
    if (run->ended && run->fd[FD_OUT].fd < 0 && run->fd[FD_ERR].fd < 0)
        run->phase = PHASE_OVER;
    return rc;
}

static int watch(struct run *run)
{
    int rc = 0;

    while (rc == 0 && run->phase != PHASE_OVER) {
        long long left = run->deadline - now_ms();
        int ready = poll(run->fd, FD_COUNT, left > 0 ? (int)left : 0);

        if (ready < 0 && errno != EINTR)
            rc = -errno;
        else if (ready > 0)
            rc = take_events(run);
        if (rc == 0 && run->phase != PHASE_OVER && now_ms() >= run->deadline)
            take_timeout(run);
    }
    return rc;
}

static int start_and_watch(struct run *run, char *const *argv, int seconds)
{
    int rc = spawn(run, argv);

    if (rc < 0)
        return rc;
    close_fd(&run->write_end[FD_OUT]);
    close_fd(&run->write_end[FD_ERR]);
    enter(run, PHASE_RUN, seconds * 1000);
    rc = watch(run);
    if (!run->ended) { /* it ignored all, or we failed: never leave it running
                        */
        kill(-run->pid, SIGKILL);
        waitpid(run->pid, &run->child->status, 0);
    }
    return rc;
}

int mgds_child_run(struct mgds_child *child, char *const *argv, int seconds,
                   size_t most)
{
    struct run run = {.child = child, .write_end = {-1, -1}, .input = {-1, -1}};
    int rc;

    *child = (struct mgds_child){.out.most = most, .err.most = most};
    for (int i = 0; i < FD_COUNT; i++)
        run.fd[i].fd = -1;
    child->out.text = calloc(1, 1);
    child->err.text = calloc(1, 1);
    if (!child->out.text || !child->err.text)
        return -ENOMEM;
    rc = open_all(&run);
    if (rc == 0)
        rc = start_and_watch(&run, argv, seconds);
    close_all(&run);
    pthread_sigmask(SIG_SETMASK, &run.old_mask, NULL);
    return rc;
}

void mgds_child_fini(struct mgds_child *child)
{
    free(child->out.text);
    free(child->err.text);
    *child = (struct mgds_child){0};
}
