/*
 * Holds all threads of processes but those of their GPUs, by ptrace, in states
 * in which none has a lock: asleep in the kernel, for an event. What goes on
 * meanwhile is done by GPUs. Linux; one thread, of another process than those.
 */
#ifndef MGDS_TESTS_ENQ_KEEPER_H
#define MGDS_TESTS_ENQ_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

/* Libraries that MPICH looks for devices with start a thread for each core. */
enum { KEEPER_THREADS = 1024, KEEPER_NAME = 16 };

struct keeper {
    struct keeper_thread {
        pid_t process, id;
        char name[KEEPER_NAME];
        bool held; /* else it runs, and is traced */
    } thread[KEEPER_THREADS];
    int count;
};

/* 0, or the errno of the call that is refused here: whether a child of this
 * process can hold its parent. */
int keeper_refused(void);

/* A process lets any other one hold it, where Linux asks (Yama). */
void keeper_allow(void);

/* Holds all threads of a process, beside those that it holds already; none of
 * them may be about to start. 0 or negative errno: -ETIMEDOUT if one was not
 * asleep for ten seconds; a line on stderr names it. */
int keeper_hold(struct keeper *keeper, pid_t process);

/* The threads of this process that are held: those of this name, or all
 * (NULL), as /proc says at this moment. -1: one of the process is not. */
int keeper_held(const struct keeper *keeper, pid_t process, const char *name);

/* All go on. */
void keeper_release(struct keeper *keeper);

#endif
