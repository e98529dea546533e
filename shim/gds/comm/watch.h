/*
 * The watchdog: one line for each operation that something has stood at for
 * MPIX_GDS_WATCHDOG seconds, and again after ten times that, and so on. What
 * stands is a stream at a wait of ours (stand.h), or a host call that this
 * library serves; never a call that passes through, nor a stream that has other
 * work of the program ahead.
 *
 * A period is as long as that setting, and begins with its first line. In it a
 * process writes four lines, then one that says how many more there are, and
 * the processes of a host that have met sixteen together (quota.h); how many
 * those have left out, the first of them says that comes to look later. What is
 * found after its process has said how many more is written in the next period.
 *
 * Lines are made under the engine's lock, and written without any lock, by the
 * progress thread or a host call.
 */
#ifndef MGDS_COMM_WATCH_H
#define MGDS_COMM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"

struct mgds_timeline;
struct mgds_op;

/* The calling thread begins to wait in that call of the program's, or NULL: it
 * does not any more. constant text. No lock is needed. */
void mgds_watch_call(const char *call);

/* The rest under the engine's lock, but speak. */

/* A host call has asked in vain. */
void mgds_watch_op(struct mgds_op *op);
void mgds_watch_probe(const struct mgds_comm *comm,
                      const struct mgds_probe *probe);
/* One that drains has, for fences of a stream alone: so many. */
void mgds_watch_streams(const struct mgds_timeline *timeline, unsigned ahead);

/* Some have been seen to stand by mgds_stands_look. */
void mgds_watch_look(void);

/* A communicator is made: its members' lines are counted with ours. */
void mgds_watch_meet(const struct mgds_comm_spec *spec);

/* Writes what there is to be written. No lock is held. */
void mgds_watch_speak(void);

#endif
