/*
 * What is made once, on first need, and asked for often: pthread_once, without
 * a call of the C library's where it is known to be over.
 *
 *   over   written, with release, by whoever has come back from pthread_once,
 *          so what was made is visible to who reads it with acquire
 */
#ifndef MGDS_BASE_ONCE_H
#define MGDS_BASE_ONCE_H

#include <pthread.h>
#include <stdbool.h>

struct mgds_once {
    pthread_once_t control;
    bool over; /* atomic */
};

#define MGDS_ONCE_INIT                                                         \
    {                                                                          \
        .control = PTHREAD_ONCE_INIT                                           \
    }

/* Any thread: what was made can be seen. */
static inline bool mgds_once_is_over(const struct mgds_once *once)
{
    return __atomic_load_n(&once->over, __ATOMIC_ACQUIRE);
}

/* Any thread: make was called, by one, and has returned. */
static inline void mgds_once(struct mgds_once *once, void (*make)(void))
{
    if (mgds_once_is_over(once))
        return;
    pthread_once(&once->control, make);
    __atomic_store_n(&once->over, true, __ATOMIC_RELEASE);
}

#endif
