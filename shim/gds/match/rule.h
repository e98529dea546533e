/*
 * MPI's matching order: which pairs are mutually first (match.h). Whatever may
 * have changed is due, and settling looks at nothing else: so each look is paid
 * by a receive or a send that came or went.
 */
#ifndef MGDS_MATCH_RULE_H
#define MGDS_MATCH_RULE_H

#include "shim/gds/match/match.h"

/* All sends of its source that are ahead of it have arrived: it waits. What
 * that changes is due. */
void mgds_rule_wait(struct mgds_match *match, struct mgds_match_send *send);

/* Makes all pairs that can be, until nothing is due. */
void mgds_rule_settle(struct mgds_match *match);

/* The send that a receive called now would get, reached, or NULL. Nothing is
 * due. */
struct mgds_match_send *mgds_rule_probe(struct mgds_match *match, int source,
                                        int tag);

#endif
