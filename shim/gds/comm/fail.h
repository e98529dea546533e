/* Operations fail, at the step where they stand: once each. All under the
 * engine's lock. */
#ifndef MGDS_COMM_FAIL_H
#define MGDS_COMM_FAIL_H

#include <stdbool.h>

struct mgds_op;

/* An operation fails by itself, with one line that says why: constant text. */
void mgds_op_fail(struct mgds_op *op, int error, const char *why);

/* One that has just been called, or paired, fails if its peer is lost: true. */
bool mgds_op_fail_if_lost(struct mgds_op *op);

/* Several: all are marked before the first of them fails, since an end lets the
 * matcher go on. A fence has a reference. why NULL: no line says so. */
void mgds_op_mark_lost(struct mgds_op *op);
void mgds_op_fail_marked(struct mgds_op *op, int error, const char *why);

/* The text for a lost peer. */
const char *mgds_op_why_lost(const struct mgds_op *op);

#endif
