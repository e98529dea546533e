/* A mutex with a rank. A thread may take a lock only if its rank is higher
 * than that of every lock it holds, so no two threads can wait for each other
 * in a circle. Builds without NDEBUG check that and abort with both names.
 *
 * Clang checks the annotations (-Wthread-safety). In C it cannot yet read
 * sibling members in an attribute, so on members MGDS_GUARDED_BY is for the
 * reader only. */
#ifndef MGDS_BASE_LOCK_H
#define MGDS_BASE_LOCK_H

#include <pthread.h>

#ifndef NDEBUG
#define MGDS_LOCK_CHECK 1
#endif

#ifdef __clang__
#define MGDS_ANNOTATE(x) __attribute__((x))
#else
#define MGDS_ANNOTATE(x)
#endif
#define MGDS_CAPABILITY(name) MGDS_ANNOTATE(capability(name))
#define MGDS_ACQUIRE(lock) MGDS_ANNOTATE(acquire_capability(lock))
#define MGDS_TRY_ACQUIRE(lock) MGDS_ANNOTATE(try_acquire_capability(1, lock))
#define MGDS_RELEASE(lock) MGDS_ANNOTATE(release_capability(lock))
#define MGDS_REQUIRES(lock) MGDS_ANNOTATE(requires_capability(lock))
#define MGDS_UNCHECKED MGDS_ANNOTATE(no_thread_safety_analysis)
#define MGDS_GUARDED_BY(lock)

/* X(rank, name), outermost first. Only the first five may be held across
 * calls into MPI, CUDA or UCX, and none that the progress
 * thread takes is held across CUDA. */
#define MGDS_LOCK_RANKS(X)                                                     \
    X(ENGINE, "engine") /* stream communicators as such, while they open */    \
    X(SETUP, "setup")   /* the wire, while it opens */                         \
    X(KEPT, "kept")     /* messages a probe extracted; across MPI */           \
    X(LAUNCH, "launch") /* one stream's launch order; across CUDA */           \
    X(WIRE, "wire")     /* the UCX worker; across UCX and its callbacks */     \
    X(COMM, "comm")     /* matching lists, operation records */                \
    X(CONN, "conn")     /* channels and queue pairs to one peer */             \
    X(REGISTRY, "registry") /* memory regions, handle tables */                \
    X(LEAF, "leaf")         /* held over a few lines that take no other */     \
    X(SHORT, "short")       /* over fewer, which call nothing: who comes       \
                               meanwhile spins */

enum mgds_lock_rank {
#define X(rank, name) MGDS_LOCK_##rank,
    MGDS_LOCK_RANKS(X)
#undef X
        MGDS_LOCK_RANK_COUNT
};

struct MGDS_CAPABILITY("mutex") mgds_lock {
    pthread_mutex_t mutex; /* of all but SHORT */
    enum mgds_lock_rank rank;
    unsigned taken; /* atomic; SHORT: somebody has it */
};

/* For static locks; they need no init and no fini. Adaptive, as all: they are
 * held for less time than it takes to fall asleep and to be woken. */
#define MGDS_LOCK_INIT(lock_rank)                                              \
    {                                                                          \
        .mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .rank = (lock_rank)    \
    }

/* 0 or negative errno. */
int mgds_lock_init(struct mgds_lock *lock, enum mgds_lock_rank rank);

/* Nobody may hold it. */
void mgds_lock_fini(struct mgds_lock *lock);

/* Neither can fail: misuse aborts in checking builds. */
void mgds_lock_acquire(struct mgds_lock *lock) MGDS_ACQUIRE(*lock);
void mgds_lock_release(struct mgds_lock *lock) MGDS_RELEASE(*lock);

/* Takes it unless somebody holds it: 1 taken, 0 not. Ranks hold here too. */
int mgds_lock_try(struct mgds_lock *lock) MGDS_TRY_ACQUIRE(*lock);

#endif
