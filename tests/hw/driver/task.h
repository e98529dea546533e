/* Helper threads and helper processes of a case. */
#ifndef MGDS_HW_TASK_H
#define MGDS_HW_TASK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "gate.h"

/* How long a call is watched before it counts as blocked, in milliseconds. A
 * short time never fails a right driver, it only sees less. */
extern int mgds_blocked_ms;

/* Half of the tasks start up to so many milliseconds late, as on a machine
 * with too few cores; 0: none. No case may fail by that. */
extern int mgds_late_ms;

/* How long a call may take before it counts as stuck. */
#define MGDS_STUCK_MS 8000

struct mgds_task {
    void (*run)(void *arg);
    void *arg;
    CUcontext ctx; /* current in the thread; NULL for none */
    bool done;
    pthread_mutex_t lock; /* guards done */
    pthread_cond_t changed;
    pthread_t thread;
};

/* Runs `run` in a thread with the caller's context current (`start`), with
 * none (`start_bare`), or with the one given (`start_in`), which asks nothing
 * of the driver in the calling thread. */
void mgds_task_start(struct mgds_task *task, void (*run)(void *), void *arg);
void mgds_task_start_bare(struct mgds_task *task, void (*run)(void *),
                          void *arg);
void mgds_task_start_in(struct mgds_task *task, void (*run)(void *), void *arg,
                        CUcontext ctx);

/* True as soon as the task has ended, false after `ms` milliseconds. */
bool mgds_task_ended_within(struct mgds_task *task, int ms);
void mgds_task_join(struct mgds_task *task);

/* `run` is called in another thread and must not return before the gate is
 * opened, and must return then. `what` names it in a failure. */
void mgds_expect_blocked(struct mgds_hwqueue gate, const char *what,
                         void (*run)(void *), void *arg);

/* The opposite: it returns although the gate is closed. Leaves the gate
 * closed if all is well, opens it after a failure. */
void mgds_expect_returns(struct mgds_hwqueue gate, const char *what,
                         void (*run)(void *), void *arg);

/* A process forked before CUDA is initialised (FRESH cases), with a socket
 * to its parent. It calls mgds_env_start itself. */
struct mgds_peer {
    pid_t pid;
    int fd;
};
void mgds_peer_start(struct mgds_peer *peer, void (*run)(int fd));

/* Waits for its end, and the status, as from waitpid. */
int mgds_peer_status(struct mgds_peer *peer);

/* The same; a failure if it failed. */
void mgds_peer_end(struct mgds_peer *peer);

/* Whole messages over the socket; abort on a short one (peer gone). */
void mgds_peer_send(int fd, const void *data, size_t bytes);
void mgds_peer_recv(int fd, void *data, size_t bytes);

/* A file descriptor over the socket. */
void mgds_peer_send_fd(int fd, int carried);
int mgds_peer_recv_fd(int fd);

/* Meets the other side. */
void mgds_peer_meet(int fd);

#endif
