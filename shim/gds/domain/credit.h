/*
 * What a receiver tells a sender of messages that its stream has taken out of a
 * ring: that their places are free, and their records not needed. One envelope
 * is for several of them, since an envelope a message would be half of all that
 * there are; but none is kept back for long, nor while the thread of the wire
 * sleeps.
 *
 * All functions are called under the engine's lock, but mgds_credits_due.
 */
#ifndef MGDS_DOMAIN_CREDIT_H
#define MGDS_DOMAIN_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_domain;

/* The send with that cookie, of the rank, was taken. */
void mgds_credit_add(struct mgds_domain *domain, unsigned rank,
                     uint64_t cookie);

/* Tells all that is kept back, of one domain: it goes. */
void mgds_credit_end(struct mgds_domain *domain);

/* Whether something has been kept back for long enough. Any thread. */
bool mgds_credits_due(void);

/* Tells all that is kept back. */
void mgds_credits_tell(void);

/* Ranks looked at so far: those that were told, and no others. */
uint64_t mgds_credit_steps(void);

#endif
