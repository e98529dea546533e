/*
 * What a receiver tells a sender of messages that its stream has taken out of a
 * ring: that their places are free, and their records not needed. One envelope
 * is for several of them, since an envelope a message would be half of all that
 * there are; but none is kept back for long: each rank that is to be told is a
 * work item (msg/work.h).
 *
 * All functions are called under the engine's lock, but mgds_credits_init.
 */
#ifndef MGDS_PROTO_CREDIT_H
#define MGDS_PROTO_CREDIT_H

#include <stdint.h>

struct mgds_comm;

/* The send with that request ID, of the rank, was taken. */
void mgds_credit_add(struct mgds_comm *comm, unsigned rank,
                     uint64_t request_id);

/* Tells all that is kept back, of one communicator: it goes. */
void mgds_credit_end(struct mgds_comm *comm);

/* Tells all that is kept back, and looks at no other ranks. */
void mgds_credits_tell(void);

/* Registers the handler, before the wire is opened. */
void mgds_credits_init(void);

#endif
