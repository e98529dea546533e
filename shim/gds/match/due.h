/* What has changed so that it may be matched now, in the order in which it did:
 * rule.c takes and looks at it. Each is in once at most. */
#ifndef MGDS_MATCH_DUE_H
#define MGDS_MATCH_DUE_H

#include "shim/gds/match/match.h"

void mgds_due_add_recv(struct mgds_match *match, struct mgds_match_recv *recv);
void mgds_due_add_send(struct mgds_match *match, struct mgds_match_send *send);

/* If it is in. */
void mgds_due_remove_recv(struct mgds_match *match,
                          struct mgds_match_recv *recv);
void mgds_due_remove_send(struct mgds_match *match,
                          struct mgds_match_send *send);

/* The first, which is in no more, or NULL. */
struct mgds_match_recv *mgds_due_take_recv(struct mgds_match *match);
struct mgds_match_send *mgds_due_take_send(struct mgds_match *match);

#endif
