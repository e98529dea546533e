/* Threads and processes beside a case; waits are bounded. */
#include "task.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

int mgds_blocked_ms = 250;
int mgds_late_ms;

/* Until the other process opens its gates and gives up. */
#define PEER_SECONDS 30

static void start_late(void)
{
    struct timespec until;
    unsigned draw;

    if (!mgds_late_ms)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    draw = (unsigned)until.tv_nsec;
    if (rand_r(&draw) % 2)
        return;
    until.tv_nsec += rand_r(&draw) % mgds_late_ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *task_main(void *opaque)
{
    struct mgds_task *task = opaque;

    start_late();
    if (task->ctx)
        OK(cu.CtxSetCurrent(task->ctx));
    task->run(task->arg);
    pthread_mutex_lock(&task->lock);
    task->done = true;
    pthread_cond_signal(&task->changed);
    pthread_mutex_unlock(&task->lock);
    return NULL;
}

void mgds_task_start_in(struct mgds_task *task, void (*run)(void *), void *arg,
                        CUcontext ctx)
{
    pthread_condattr_t attr;

    *task = (struct mgds_task){.run = run, .arg = arg, .ctx = ctx};
    pthread_mutex_init(&task->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&task->changed, &attr);
    MUST(pthread_create(&task->thread, NULL, task_main, task) == 0);
}

void mgds_task_start(struct mgds_task *task, void (*run)(void *), void *arg)
{
    CUcontext ctx;

    OK(cu.CtxGetCurrent(&ctx));
    mgds_task_start_in(task, run, arg, ctx);
}

void mgds_task_start_bare(struct mgds_task *task, void (*run)(void *),
                          void *arg)
{
    mgds_task_start_in(task, run, arg, NULL);
}

bool mgds_task_ended_within(struct mgds_task *task, int ms)
{
    struct timespec until;
    bool done;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (ms % 1000) * 1000000L;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&task->lock);
    while (!task->done && pthread_cond_timedwait(&task->changed, &task->lock,
                                                 &until) != ETIMEDOUT)
        continue;
    done = task->done;
    pthread_mutex_unlock(&task->lock);
    return done;
}

void mgds_task_join(struct mgds_task *task)
{
    pthread_join(task->thread, NULL);
}

void mgds_expect_blocked(struct mgds_hwqueue gate, const char *what,
                         void (*run)(void *), void *arg)
{
    struct mgds_task task;

    mgds_task_start(&task, run, arg);
    if (mgds_task_ended_within(&task, mgds_blocked_ms))
        mgds_case_fail(NULL, 0, "%s returned while the wait stood", what);
    mgds_hwqueue_open(gate);
    if (!mgds_task_ended_within(&task, MGDS_STUCK_MS))
        mgds_case_abort(__FILE__, __LINE__, "%s is still stuck after the wait",
                        what);
    mgds_task_join(&task);
}

void mgds_expect_returns(struct mgds_hwqueue gate, const char *what,
                         void (*run)(void *), void *arg)
{
    struct mgds_task task;

    mgds_task_start(&task, run, arg);
    if (!mgds_task_ended_within(&task, MGDS_STUCK_MS)) {
        mgds_case_fail(NULL, 0, "%s did not return while the wait stood", what);
        mgds_hwqueue_open(gate);
    }
    mgds_task_join(&task);
}

void mgds_peer_start(struct mgds_peer *peer, void (*run)(int fd))
{
    int ends[2];
    pid_t parent = getpid();

    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    peer->pid = fork();
    MUST(peer->pid >= 0);
    if (peer->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        alarm(PEER_SECONDS); /* the worker's watchdog is inherited */
        run(ends[1]);
        exit(mgds_report_failed());
    }
    close(ends[1]);
    peer->fd = ends[0];
}

int mgds_peer_status(struct mgds_peer *peer)
{
    int status = 0;

    close(peer->fd);
    while (waitpid(peer->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

void mgds_peer_end(struct mgds_peer *peer)
{
    int status = mgds_peer_status(peer);

    if (WIFSIGNALED(status))
        mgds_case_fail(NULL, 0, "the other process died of signal %d",
                       WTERMSIG(status));
    else if (WEXITSTATUS(status))
        mgds_case_fail(NULL, 0, "the other process ended with status %d",
                       WEXITSTATUS(status));
}

void mgds_peer_send(int fd, const void *data, size_t bytes)
{
    MUST(send(fd, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
}

void mgds_peer_recv(int fd, void *data, size_t bytes)
{
    MUST(recv(fd, data, bytes, MSG_WAITALL) == (ssize_t)bytes);
}

void mgds_peer_send_fd(int fd, int carried)
{
    char byte = 0;
    char space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = space,
                         .msg_controllen = sizeof(space)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &carried, sizeof(int));
    MUST(sendmsg(fd, &msg, MSG_NOSIGNAL) == 1);
}

int mgds_peer_recv_fd(int fd)
{
    char byte;
    int carried;
    char space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = space,
                         .msg_controllen = sizeof(space)};

    MUST(recvmsg(fd, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg));
    memcpy(&carried, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
    return carried;
}

void mgds_peer_meet(int fd)
{
    char mine = 'm', theirs = 0;

    mgds_peer_send(fd, &mine, 1);
    mgds_peer_recv(fd, &theirs, 1);
    MUST(theirs == 'm');
}
