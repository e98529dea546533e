/*
 * How many lines the processes of a host write together: counted in a small
 * file of the user's in /dev/shm, which only the owner can open. One for all
 * programs of the user, of a fixed size, never taken away: a process that is
 * killed leaves nothing behind.
 *
 * Counted by key (those who share one count together) and period: the first
 * line begins a period, and what is counted is forgotten when the next one
 * begins. The file is a table of the keys that were used last.
 *
 * Every access is under flock, which ends with the process, and is waited for
 * as long as the quota's patience: where the file cannot be had, or is locked
 * by one who does not go on, nothing is counted and all may be written. A file
 * that is not the user's own is not used, and a symlink is not followed; one
 * line says so.
 */
#ifndef MGDS_BASE_QUOTA_H
#define MGDS_BASE_QUOTA_H

#include <stdint.h>

struct mgds_quota {
    uint64_t key;
    uint64_t period;   /* ns */
    uint64_t patience; /* ns for the lock; others hold it for microseconds */
    unsigned most;     /* lines in a period */
};

/* So many of `wanted` lines may be written now. */
unsigned mgds_quota_take(const struct mgds_quota *quota, unsigned wanted);

/* What was not written for that: counted for whoever asks next. */
void mgds_quota_leave(const struct mgds_quota *quota, unsigned left);
unsigned mgds_quota_ask(const struct mgds_quota *quota);

#endif
