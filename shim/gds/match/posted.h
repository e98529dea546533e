/*
 * The posted receives of a matcher: a queue for each (source, tag), (any, tag),
 * (source, any) and (any, any). A send has at most four first receives that
 * accept it.
 *
 * A receive is *behind* the last earlier one of each other queue that has all
 * that it accepts, and *free* when none of these is posted any more: then the
 * first of its queue is the earliest receive for whatever it accepts, but for
 * what a receive from one source takes from one with any.
 *
 *   (source, tag)   behind  (any, any), (any, tag), (source, any)
 *   (source, any)   behind  (any, any)
 *   (any, tag)      behind  (any, any)
 *
 * It waits in the ring of the one that it is behind, so it costs one look at it
 * when that one goes, and none before.
 *
 * The other two, (source, any) behind (any, tag) and the other way round, meet
 * at a send alone. There the send waits, in the heap of the first receive of
 * the queue that holds it, until that queue is past the stamp that the send
 * wants (mgds_posted_hold).
 *
 * A receive that is free and becomes first, or first and becomes free, is due;
 * so is a send that is not held any more.
 */
#ifndef MGDS_MATCH_POSTED_H
#define MGDS_MATCH_POSTED_H

#include "shim/gds/match/match.h"

/* Behind all others of its kind. */
void mgds_posted_add(struct mgds_match *match, struct mgds_match_recv *recv);

/* It is matched, or cancelled. */
void mgds_posted_remove(struct mgds_match *match, struct mgds_match_recv *recv);

/* The first posted with just these, or NULL. */
struct mgds_match_recv *mgds_posted_first(struct mgds_match *match, int source,
                                          int tag);

/* Likewise, if it is free: but none with any tag from any source, which is. */
struct mgds_match_recv *mgds_posted_first_free(struct mgds_match *match,
                                               int source, int tag);

bool mgds_posted_is_free(const struct mgds_match_recv *recv);

/* The send is due when no receive up to that stamp is posted any more in the
 * queue whose first one that is. */
void mgds_posted_hold(struct mgds_match_recv *first,
                      struct mgds_match_send *send, uint64_t stamp);

#endif
