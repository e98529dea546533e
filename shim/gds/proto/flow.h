/*
 * Flows: the bytes of an operation in parts, through fragments of pinned memory
 * (mem/stock.h) where there is no memory for all of them (docs/fragments.md
 * says who tells whom what, and why that comes to an end).
 *
 *   way     of                        its parts
 *   POUR    a send, lean              wait for a fragment; a copy (carry.h)
 *                                     fills it; the wire sends it
 *   KEEP    a send that must not      wait for a fragment; a copy fills it; the
 *           wait for its receiver,    CPU copies it to ordinary memory
 *           lean
 *   POST    a send from host memory   the wire sends them
 *   FILL    a receive, lean           wait for a fragment, which is granted to
 *                                     the sender; the wire fills it; a copy
 *   LAND    a receive with memory     the wire puts them there
 *   GET     a receive of a message    wait for a fragment; a copy fills it; the
 *           in a ring, or in the      CPU copies it to where it belongs. The
 *           sender's memory           last one, behind which the sender may use
 *                                     its memory, when the others are over
 *
 *   part    DUE -> BUSY -> over       DUE: nobody is at it (FILL alone)
 *
 * A flow that fails drops what is DUE, waits for what is BUSY, and is over.
 *
 * All under the engine's lock.
 */
#ifndef MGDS_PROTO_FLOW_H
#define MGDS_PROTO_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mgds_op;
struct mgds_wire_arrival;

/* Whom to tell, once each: all bytes of a send have left; are in op->copy;
 * those of a receive are in the program's memory, or in op->bounce or op->copy
 * if it is not lean; the same of a message that was copied out of a ring or its
 * sender's memory. Or negative errno. */
struct mgds_flow_ends {
    void (*sent)(struct mgds_op *op, int error);
    void (*kept)(struct mgds_op *op, int error);
    void (*filled)(struct mgds_op *op, int error);
    void (*got)(struct mgds_op *op, int error);
};
void mgds_flow_init(const struct mgds_flow_ends *told);

/* Bytes of the fragments that an operation may have; 0: there are none. */
size_t mgds_flow_fragment(const struct mgds_op *op);

/* Its bytes are under way in parts. */
bool mgds_flow_is_on(const struct mgds_op *op);

/* Since when nothing of it happened, ns; 0: it is not on, or its peer has no
 * part in it, or a copy of ours is at work: that ends by itself. */
uint64_t mgds_flow_stands_since(const struct mgds_op *op);
/* Its sender asks that a receive does without it, now and then: true, if
 * nothing of it has happened since it asked last, nor is anything at work. */
bool mgds_flow_revoke(const struct mgds_op *op);
/* Of a receive: the wire is at one, which only the peer's end takes from it. */
bool mgds_flow_is_landing(const struct mgds_op *op);

/* A send that was asked for and is reached begins: in parts of so many bytes at
 * most that are asked for by GRANT; 0: all may go. The state is the caller's.
 */
void mgds_flow_send(struct mgds_op *op, size_t most);
/* Its receiver has memory for that many. */
void mgds_flow_grant(struct mgds_op *op, uint64_t bytes);

/* A lean send that its stream has come to: behind that it is lean no more, and
 * its receiver may ask for it. Nothing ends this but itself. */
void mgds_flow_keep(struct mgds_op *op);

/* The sender of a lean receive's message is ready, for parts of that size. */
void mgds_flow_fill(struct mgds_op *op, size_t size);
/* A receive gets its bytes in parts, to where there is room for all. */
void mgds_flow_land(struct mgds_op *op);
/* A part comes: true, and where it goes; its arg is a struct mgds_landing.
 * False: it is none that is due. */
bool mgds_flow_take(struct mgds_op *op, uint64_t first,
                    struct mgds_wire_arrival *arrival);

/* A receive whose message is there, to where kernels do not reach. */
void mgds_flow_get(struct mgds_op *op);

/* It fails; told when nobody is at it any more. Of one that gets its message:
 * nothing, it ends by itself. */
void mgds_flow_fail(struct mgds_op *op, int error);

#endif
