/*
 * What an operation, a wait, or both at once put on a stream: steps, collected
 * under the engine's lock, where the order of calls is made, and queued without
 * it.
 *
 *   send      PUSH, POST or PACK, FLAG
 *   receive   FLAG
 *   wait      TAKE .., WAIT, UNPACK .., AWAIT .., FLAG; nothing if there is
 * nothing to be waited for: then it is passed with what was put last
 */
#ifndef MGDS_DOMAIN_PUT_H
#define MGDS_DOMAIN_PUT_H

#include "shim/gds/domain/op.h"
#include "shim/gds/queue/gstream.h"

/* Steps that a wait and an operation put at once need beside one for each
 * operation of the wait. */
enum { MGDS_PUT_MORE = 4 };

struct mgds_put {
    struct mgds_line *line;
    uint64_t ticket;
    /* NULL: none. Once steps are queued they are gone when their marks are. */
    struct mgds_op *op;
    struct mgds_wait *wait;
    unsigned op_flag, wait_flag; /* places of the FLAGs for their marks */
    uint64_t domain, name;       /* whose errors are told */
    struct mgds_step *step;
    unsigned n;
    struct mgds_step *room; /* a larger wait's; to be freed */
    struct mgds_step own[1 + MGDS_PUT_MORE];
};

/* All but the last under the engine's lock, in this order, what there is. */
void mgds_put_begin(struct mgds_put *put, struct mgds_line *line);
void mgds_put_op(struct mgds_put *put, struct mgds_op *op);
void mgds_put_wait(struct mgds_put *put, struct mgds_wait *wait);

/* Queues them. What cannot be queued fails, as if the stream had come there:
 * errors are those of the operations, the stream and the domain. */
void mgds_put_all(struct mgds_put *put);

#endif
