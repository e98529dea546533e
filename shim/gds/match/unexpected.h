/*
 * The sends of a matcher that have arrived and have no receive. Each is found
 * by its source and number. Those that wait, having come in order, are in the
 * queue of their (source, tag) and in that of their (source, any).
 *
 * Only the *first* of its source and tag can be matched: whoever accepts one of
 * these accepts that one ahead of all others. Of those, the reached ones that
 * no receive has are *ready* for a receive from any source: in the queue of
 * their (any, tag), and, if they are the first of their source at all, in that
 * of (any, any); in the order in which they became so.
 *
 * A send whose place in these may matter is due, for rule.c to look at.
 */
#ifndef MGDS_MATCH_UNEXPECTED_H
#define MGDS_MATCH_UNEXPECTED_H

#include "shim/gds/match/match.h"

/* By number; NULL: it has not arrived, or is gone. */
struct mgds_match_send *mgds_unexpected_find(struct mgds_match *match,
                                             int source, uint64_t number);

/* It has arrived, perhaps ahead of others of its source. */
void mgds_unexpected_arrive(struct mgds_match *match,
                            struct mgds_match_send *send);

/* All of its source that are ahead of it have arrived: it waits. */
void mgds_unexpected_wait(struct mgds_match *match,
                          struct mgds_match_send *send);

/* It is matched, or taken or withdrawn, or the matcher ends. */
void mgds_unexpected_remove(struct mgds_match *match,
                            struct mgds_match_send *send);

/* The first that waits of a source with the tag, or any, or NULL. */
struct mgds_match_send *mgds_unexpected_first(struct mgds_match *match,
                                              int source, int tag);

/* The one that has been ready longest for a receive from any source, or NULL.
 */
struct mgds_match_send *mgds_unexpected_first_ready(struct mgds_match *match,
                                                    int tag);

/* The send, first of its source and tag, is ready from now on; or is not. */
void mgds_unexpected_set_ready(struct mgds_match *match,
                               struct mgds_match_send *send);
void mgds_unexpected_unset_ready(struct mgds_match *match,
                                 struct mgds_match_send *send);

/* Is to be looked at, if it is the first of its source and tag. */
void mgds_unexpected_set_due(struct mgds_match *match,
                             struct mgds_match_send *send);

/* Is it the first of its source, whatever the tag? */
static inline bool mgds_unexpected_leads(const struct mgds_match_send *send)
{
    return mgds_fifo_is_first(&send->of_source);
}

#endif
