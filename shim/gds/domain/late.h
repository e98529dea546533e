/*
 * Operations whose long messages (rget.h) nobody may come to copy, in the order
 * in which they were put in: sends of which the receiver does not know yet that
 * their stream has come to them; receives whose stream is to take the message,
 * and may stand elsewhere. All under the engine's lock, but due.
 */
#ifndef MGDS_DOMAIN_LATE_H
#define MGDS_DOMAIN_LATE_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_op;

void mgds_late_add(struct mgds_op *op);
/* If it is in. */
void mgds_late_remove(struct mgds_op *op);

/* Whether one has been in for too long. Any thread. */
bool mgds_late_due(void);
/* Takes such a one out; NULL: there is none. */
struct mgds_op *mgds_late_take_send(uint64_t now);
struct mgds_op *mgds_late_take_recv(uint64_t now);

/* All go. */
void mgds_late_fini(void);

#endif
