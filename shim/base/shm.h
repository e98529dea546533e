/*
 * Memory that processes of a host share without a name in any file system: who
 * has it tells others its process id, its descriptor and the inode, and they
 * open that through /proc, which the system lets processes of the same user do.
 */
#ifndef MGDS_BASE_SHM_H
#define MGDS_BASE_SHM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Memory of so many bytes, all 0, whose size nobody can change any more: its
 * descriptor, which the caller closes, or -errno. name: for /proc. */
int mgds_shm_create(const char *name, size_t bytes);

/* A part of it, from offset on, for reading and writing; the caller unmaps it.
 * 0 or -errno. */
int mgds_shm_map(void **out, int fd, off_t offset, size_t bytes);

/* Another process's descriptor as one of ours, which the caller closes, if it
 * is of that inode: pipes, too. flags: of open, beside O_CLOEXEC, O_NONBLOCK
 * and O_NOCTTY. -ESRCH: there is none, or it is of something else; what else
 * the system says. */
int mgds_shm_open(int pid, int theirs, uint64_t inode, int flags);

#endif
