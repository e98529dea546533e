/* Ranked locks; see lock.h. */
#include "shim/base/lock.h"

#include <assert.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/base/log.h"
#include "shim/base/tls.h"

#ifdef MGDS_LOCK_CHECK

static const char *const rank_names[] = {
#define X(rank, name) name,
    MGDS_LOCK_RANKS(X)
#undef X
};

static_assert(MGDS_LOCK_RANK_COUNT <= 32, "one bit a rank in held");

/* Ranks this thread holds: they are distinct, so a bit each is the stack. */
static MGDS_TLS unsigned held;

static void check_acquire(enum mgds_lock_rank rank)
{
    if (held >> rank != 0) {
        int highest = 31 - __builtin_clz(held);
        mgds_log_say("bug: lock %s is taken while lock %s is held; ranks must "
                     "rise (shim/base/lock.h)",
                     rank_names[rank], rank_names[highest]);
        abort();
    }
    held |= 1u << rank;
}

static void check_release(enum mgds_lock_rank rank)
{
    if (!(held & 1u << rank)) {
        mgds_log_say("bug: lock %s is released by a thread that does not "
                     "hold it",
                     rank_names[rank]);
        abort();
    }
    held &= ~(1u << rank);
}

#else

static void check_acquire(enum mgds_lock_rank rank)
{
    (void)rank;
}

static void check_release(enum mgds_lock_rank rank)
{
    (void)rank;
}

#endif

/* How often who spins looks before it leaves the processor: whoever has the
 * lock may have been put off it. */
enum { LOOKS = 100 };

static void await_short(const struct mgds_lock *lock)
{
    for (unsigned looks = 1; __atomic_load_n(&lock->taken, __ATOMIC_RELAXED);
         looks++)
        if (looks % LOOKS == 0)
            sched_yield();
}

static bool try_short(struct mgds_lock *lock)
{
    return __atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE) == 0;
}

int mgds_lock_init(struct mgds_lock *lock, enum mgds_lock_rank rank)
{
    pthread_mutexattr_t attr;
    int rc = -pthread_mutexattr_init(&attr);

    if (rc < 0)
        return rc;
    lock->rank = rank;
    lock->taken = 0;
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    rc = -pthread_mutex_init(&lock->mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return rc;
}

void mgds_lock_fini(struct mgds_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

/* The lock below is not known to clang's analysis; the contract is. */
MGDS_UNCHECKED void mgds_lock_acquire(struct mgds_lock *lock)
{
    check_acquire(lock->rank);
    if (lock->rank != MGDS_LOCK_SHORT)
        pthread_mutex_lock(&lock->mutex);
    else
        while (!try_short(lock))
            await_short(lock);
}

MGDS_UNCHECKED void mgds_lock_release(struct mgds_lock *lock)
{
    check_release(lock->rank);
    if (lock->rank != MGDS_LOCK_SHORT)
        pthread_mutex_unlock(&lock->mutex);
    else
        /* what was done under the lock, before another thread takes it */
        __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

MGDS_UNCHECKED int mgds_lock_try(struct mgds_lock *lock)
{
    check_acquire(lock->rank);
    if (lock->rank == MGDS_LOCK_SHORT
            ? try_short(lock)
            : pthread_mutex_trylock(&lock->mutex) == 0)
        return 1;
    check_release(lock->rank);
    return 0;
}
