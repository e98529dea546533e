/*
 * Who is matched with whom; see rule.h.
 *
 * Of the sends only the first of a source and tag count, of the receives the
 * first of each of the four queues that accept such a send: the earliest of
 * these, if there is one, is the only receive that it may be matched with. Not
 * yet, if
 *
 *   the receive has any tag, and an earlier send of the source waits: that one
 *   goes, or the receive does; then what comes first of either is due
 *
 *   the receive is from any source, and the send is not reached: it will be, or
 *   the receive goes; then a receive of that source alone is looked at again
 *
 * Receives that are behind it are due when it goes (posted.h); where a receive
 * of the other kind is what the send waits for, the send is held.
 */
#include "shim/gds/match/rule.h"

#include "shim/gds/match/due.h"
#include "shim/gds/match/match_state.h"
#include "shim/gds/match/posted.h"
#include "shim/gds/match/unexpected.h"

static struct mgds_match_recv *pair_up(struct mgds_match *match,
                                       struct mgds_match_recv *recv,
                                       struct mgds_match_send *send)
{
    mgds_posted_remove(match, recv);
    mgds_unexpected_remove(match, send);
    match->paired(match->owner, recv, send);
    return recv;
}

static struct mgds_match_recv *earlier_of(struct mgds_match_recv *a,
                                          struct mgds_match_recv *b)
{
    if (!a || !b)
        return a ? a : b;
    return a->stamp < b->stamp ? a : b;
}

/* The send is looked at again when the queue of that receive is past the stamp.
 */
static void hold_send(struct mgds_match *match, struct mgds_match_recv *by,
                      struct mgds_match_send *send, uint64_t stamp)
{
    mgds_unexpected_unset_ready(match, send);
    mgds_posted_hold(by, send, stamp);
}

/* Of a send that is not reached and leads its source: a receive with any tag
 * may have it, if no receive from any source is ahead. */
static struct mgds_match_recv *examine_coming(struct mgds_match *match,
                                              struct mgds_match_send *send)
{
    struct mgds_match_recv *any_tag, *any_source;

    any_tag = mgds_posted_first_free(match, send->source, MGDS_ANY_TAG);
    if (!any_tag)
        return NULL;
    any_source = mgds_posted_first_free(match, MGDS_ANY_SOURCE, send->tag);
    if (!any_source || any_source->stamp > any_tag->stamp)
        return pair_up(match, any_tag, send);
    hold_send(match, any_source, send, any_tag->stamp);
    return NULL;
}

/* Of a send that leads its source and is reached: whoever is the first may have
 * it. One with any tag from any source is, if neither of the others is free. */
static struct mgds_match_recv *examine_leader(struct mgds_match *match,
                                              struct mgds_match_send *send)
{
    struct mgds_match_recv *first =
        earlier_of(mgds_posted_first_free(match, send->source, MGDS_ANY_TAG),
                   mgds_posted_first_free(match, MGDS_ANY_SOURCE, send->tag));

    if (!first)
        first = mgds_posted_first(match, MGDS_ANY_SOURCE, MGDS_ANY_TAG);
    if (first)
        return pair_up(match, first, send);
    mgds_unexpected_set_ready(match, send);
    return NULL;
}

/* Of a send that is reached ahead of an earlier one of its source, which all
 * receives with any tag want first. One of them may be ahead of what is from
 * any source: then the send is not ready until that is gone. */
static struct mgds_match_recv *examine_follower(struct mgds_match *match,
                                                struct mgds_match_send *send)
{
    struct mgds_match_recv *any_source, *any_tag;

    any_source = mgds_posted_first_free(match, MGDS_ANY_SOURCE, send->tag);
    if (!any_source) {
        mgds_unexpected_set_ready(match, send);
        return NULL;
    }
    any_tag = mgds_posted_first_free(match, send->source, MGDS_ANY_TAG);
    if (!any_tag || any_tag->stamp > any_source->stamp)
        return pair_up(match, any_source, send);
    hold_send(match, any_tag, send, any_source->stamp);
    return NULL;
}

/* The send, first of its source and tag, is matched if it can be: with what is
 * returned. No receive with just its source and tag is free: others are ahead
 * of those. */
static struct mgds_match_recv *examine_send(struct mgds_match *match,
                                            struct mgds_match_send *send)
{
    mgds_heap_remove(&send->held, &match->looks);
    if (!mgds_unexpected_leads(send))
        return send->reached ? examine_follower(match, send) : NULL;
    return send->reached ? examine_leader(match, send)
                         : examine_coming(match, send);
}

/* Likewise, where such a receive may be free, but was not served yet. */
static struct mgds_match_recv *examine_all(struct mgds_match *match,
                                           struct mgds_match_send *send)
{
    struct mgds_match_recv *own =
        mgds_posted_first_free(match, send->source, send->tag);

    return own ? pair_up(match, own, send) : examine_send(match, send);
}

/* What is ready is matched, or held, so that it is not any more: for as long as
 * the receive is posted. */
static void serve_any_source(struct mgds_match *match,
                             const struct mgds_match_recv *recv)
{
    const int tag = recv->tag;
    struct mgds_match_send *send;

    do
        send = mgds_unexpected_first_ready(match, tag);
    while (send && examine_all(match, send) != recv);
}

/* A receive that is free, and first of its queue. */
static void serve_recv(struct mgds_match *match, struct mgds_match_recv *recv)
{
    struct mgds_match_send *send;

    if (recv->source == MGDS_ANY_SOURCE) {
        serve_any_source(match, recv);
        return;
    }
    send = mgds_unexpected_first(match, recv->source, recv->tag);
    if (send && recv->tag == MGDS_ANY_TAG)
        examine_all(match, send);
    else if (send)
        pair_up(match, recv, send);
}

static bool settle_recv(struct mgds_match *match)
{
    struct mgds_match_recv *recv = mgds_due_take_recv(match);

    if (recv)
        serve_recv(match, recv);
    return recv;
}

static bool settle_send(struct mgds_match *match)
{
    struct mgds_match_send *send = mgds_due_take_send(match);

    if (send)
        examine_send(match, send);
    return send;
}

/* Receives first, so that those that are free have what is theirs when sends
 * are examined. */
void mgds_rule_settle(struct mgds_match *match)
{
    while (settle_recv(match) || settle_send(match))
        ;
}

void mgds_rule_wait(struct mgds_match *match, struct mgds_match_send *send)
{
    struct mgds_match_recv *own;

    mgds_unexpected_wait(match, send);
    if (!mgds_fifo_is_first(&send->of_tag))
        return;
    own = mgds_posted_first_free(match, send->source, send->tag);
    if (own)
        mgds_due_add_recv(match, own);
    else
        mgds_due_add_send(match, send);
}

/* Probes: a message that an earlier receive may have is not there for them. */

static bool is_wanted(struct mgds_match *match,
                      const struct mgds_match_send *send)
{
    return mgds_posted_first(match, send->source, send->tag) ||
           mgds_posted_first(match, send->source, MGDS_ANY_TAG) ||
           mgds_posted_first(match, MGDS_ANY_SOURCE, send->tag) ||
           mgds_posted_first(match, MGDS_ANY_SOURCE, MGDS_ANY_TAG);
}

/* Nobody from any source waits. What a receive of its source with any tag is
 * ahead of is held, as a receive called now would have it. */
static struct mgds_match_send *probe_ready(struct mgds_match *match, int tag)
{
    struct mgds_match_recv *any_tag;
    struct mgds_match_send *send;

    while ((send = mgds_unexpected_first_ready(match, tag)) != NULL) {
        any_tag = mgds_posted_first(match, send->source, MGDS_ANY_TAG);
        if (!any_tag)
            break;
        hold_send(match, any_tag, send, match->stamp);
    }
    return send;
}

static struct mgds_match_send *probe_any_source(struct mgds_match *match,
                                                int tag)
{
    if (mgds_posted_first(match, MGDS_ANY_SOURCE, MGDS_ANY_TAG) ||
        mgds_posted_first(match, MGDS_ANY_SOURCE, tag))
        return NULL;
    return probe_ready(match, tag);
}

struct mgds_match_send *mgds_rule_probe(struct mgds_match *match, int source,
                                        int tag)
{
    struct mgds_match_send *send;

    if (source == MGDS_ANY_SOURCE)
        return probe_any_source(match, tag);
    send = mgds_unexpected_first(match, source, tag);
    return send && send->reached && !is_wanted(match, send) ? send : NULL;
}
