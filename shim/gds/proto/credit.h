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

struct mgds_domain;

/* The send with that cookie, of the rank, was taken. */
void mgds_credit_add(struct mgds_domain *domain, unsigned rank,
                     uint64_t cookie);

/* Tells all that is kept back, of one domain: it goes. */
void mgds_credit_end(struct mgds_domain *domain);

/* Tells all that is kept back, and looks at no other ranks. */
void mgds_credits_tell(void);

/* Registers the handler, before the wire is opened. */
void mgds_credits_init(void);

#endif
