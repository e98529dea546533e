/* What is to be looked at; see due.h. */
#include "shim/gds/match/due.h"

#include "shim/gds/match/match_state.h"

void mgds_due_add_recv(struct mgds_match *match, struct mgds_match_recv *recv)
{
    if (recv->is_due)
        return;
    recv->is_due = true;
    TAILQ_INSERT_TAIL(&match->due_recvs, recv, due);
}

void mgds_due_add_send(struct mgds_match *match, struct mgds_match_send *send)
{
    if (send->is_due)
        return;
    send->is_due = true;
    TAILQ_INSERT_TAIL(&match->due_sends, send, due);
}

void mgds_due_remove_recv(struct mgds_match *match,
                          struct mgds_match_recv *recv)
{
    if (!recv->is_due)
        return;
    recv->is_due = false;
    TAILQ_REMOVE(&match->due_recvs, recv, due);
}

void mgds_due_remove_send(struct mgds_match *match,
                          struct mgds_match_send *send)
{
    if (!send->is_due)
        return;
    send->is_due = false;
    TAILQ_REMOVE(&match->due_sends, send, due);
}

struct mgds_match_recv *mgds_due_take_recv(struct mgds_match *match)
{
    struct mgds_match_recv *recv = TAILQ_FIRST(&match->due_recvs);

    if (recv)
        mgds_due_remove_recv(match, recv);
    return recv;
}

struct mgds_match_send *mgds_due_take_send(struct mgds_match *match)
{
    struct mgds_match_send *send = TAILQ_FIRST(&match->due_sends);

    if (send)
        mgds_due_remove_send(match, send);
    return send;
}
