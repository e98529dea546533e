/*
 * What stands, on demand: all of it, in the lines of report.h, to a descriptor
 * or where lines of ours go. It works whatever the program is in: streams may
 * stand, and a thread may sit in a call of ours. The engine's lock is tried for
 * a while, not waited for: who has it is said to be busy.
 */
#ifndef MGDS_COMM_DUMP_H
#define MGDS_COMM_DUMP_H

#include "shim/gds/comm/comm.h"

/* Of a stream, or of all and of host calls (NULL). fd: where to, or -1: where
 * lines of ours go. 0, or -EIO: it could not be written to. Any thread that
 * holds no lock. */
int mgds_dump(const struct mgds_gstream *stream, int fd);

/* From MPIX_GDS_DUMP_SIGNAL's handler on, which is set by the first begin and
 * taken away by end unless another one was set meanwhile: the progress thread
 * dumps. A handler that was there is called, too. */
void mgds_dump_begin(void);
void mgds_dump_end(void);

/* By the progress thread: if a signal has come. */
void mgds_dump_chore(void);

#endif
