/*
 * What a wait that stands waits for, in words: the one place that makes these
 * lines, whoever writes them (watch.h, dump.h, drain.c). docs/running.md shows
 * them to users.
 *
 * All functions are called under the engine's lock.
 */
#ifndef MGDS_COMM_REPORT_H
#define MGDS_COMM_REPORT_H

#include <stdint.h>

struct mgds_debt;
struct mgds_failure;
struct mgds_comm;
struct mgds_gstream;
struct mgds_timeline;
struct mgds_op;
struct mgds_probe;

/* A line, the terminator included; what is longer is cut. */
enum { MGDS_REPORT_BYTES = 512 };

/* Who waits: a stream, by its timeline, or else a call of the program. */
struct mgds_waiter {
    const struct mgds_timeline *timeline;
    const char *call;
    uint64_t since; /* ns of mgds_clock_ns */
};

void mgds_report_op(char timeline[MGDS_REPORT_BYTES],
                    const struct mgds_waiter *waiter, const struct mgds_op *op);
/* One has failed: that, and why, is owed to somebody from now on. */
void mgds_report_debt(struct mgds_debt *debt, int error,
                      const struct mgds_op *op);
/* The same, of one that is done, for who is told now: no text where the errno
 * says all. */
void mgds_report_failure(struct mgds_failure *out, const struct mgds_op *op);
/* It fails, with op->fail->why: a line, once, of the first sixteen such. */
void mgds_report_lost(struct mgds_op *op);
void mgds_report_probe(char timeline[MGDS_REPORT_BYTES],
                       const struct mgds_waiter *waiter,
                       const struct mgds_comm *comm,
                       const struct mgds_probe *probe);

/* A stream that stands at none of our waits, with so many fences of ours ahead;
 * the call, if not NULL, waits for that. */
void mgds_report_stream(char timeline[MGDS_REPORT_BYTES],
                        const struct mgds_waiter *waiter, unsigned ahead);

#endif
