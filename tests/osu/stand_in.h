/*
 * What the stand-ins for other projects' libraries share: memory that their
 * processes have in common, the driver's calls, and a record of what was
 * called. Test code: a broken promise ends the process with a line.
 */
#ifndef MGDS_TEST_STAND_IN_H
#define MGDS_TEST_STAND_IN_H

#include <stddef.h>

#include "shim/gds/cuda/driver_abi.h"

#define STAND_IN_RANKS 2

/* The driver's calls, filled by stand_in_join. */
struct stand_in_driver {
#define X(field, name, version, params) CUresult(*field) params;
#include "tests/osu/stand_in.def"
#undef X
};
extern struct stand_in_driver stand_in;

/* A new name for stand_in_join, at most 32 characters. */
void stand_in_name(char *out, const char *what);

/* `bytes` that all processes who give the name share, zero at first, and that
 * GPUs see; returns when all are there. Leave: by each of them, once, with what
 * join returned. Up to STAND_IN_JOINS at a time. */
#define STAND_IN_JOINS 2
void *stand_in_join(const char *name, size_t bytes, int rank);
void stand_in_leave(void *shared);

/* One line in the file RIVAL_LOG.rank, if that is set. */
__attribute__((format(printf, 1, 2))) void stand_in_log(const char *format,
                                                        ...);

/* True once: for the message RIVAL_DAMAGE, counted from 1, that this process
 * receives, or, where receiving is not a call, sends. */
int stand_in_damages(void);

/* Ends the process unless it holds. */
void stand_in_check(int holds, const char *what);

#endif
