/* Bytes that nobody can guess: the kernel's. */
#ifndef MGDS_BASE_RANDOM_H
#define MGDS_BASE_RANDOM_H

#include <stddef.h>

/* 0; or negative errno, and one line has said so: -ENOSYS where a sandbox
 * forbids getrandom. Any thread. Waits only while the machine starts. */
int mgds_random(void *out, size_t bytes);

#endif
