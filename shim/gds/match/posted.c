/* Posted receives; see posted.h. */
#include "shim/gds/match/posted.h"

#include "shim/base/container.h"
#include "shim/gds/match/due.h"
#include "shim/gds/match/match_state.h"

static struct mgds_match_recv *recv_of(struct mgds_fifo_node *node)
{
    return node ? MGDS_CONTAINER_OF(node, struct mgds_match_recv, queue) : NULL;
}

struct mgds_match_recv *mgds_posted_first(struct mgds_match *match, int source,
                                          int tag)
{
    return recv_of(
        mgds_fifos_first(&match->posted, mgds_match_key(source, tag)));
}

/* The kind of receive that others are behind, or NONE. */
static enum mgds_match_ahead kind_of(int source, int tag)
{
    if (tag != MGDS_ANY_TAG)
        return source == MGDS_ANY_SOURCE ? MGDS_AHEAD_TAG : MGDS_AHEAD_NONE;
    return source == MGDS_ANY_SOURCE ? MGDS_AHEAD_ANY : MGDS_AHEAD_SOURCE;
}

static void put_behind(struct mgds_match *match, struct mgds_match_recv *recv,
                       int source, int tag)
{
    const enum mgds_match_ahead kind = kind_of(source, tag);
    struct mgds_match_recv *last = NULL;

    if (match->all[kind] > 0)
        last = recv_of(
            mgds_fifos_last(&match->posted, mgds_match_key(source, tag)));
    if (last)
        mgds_link_join(&last->behind, &recv->ahead[kind]);
}

static void put_behind_all(struct mgds_match *match,
                           struct mgds_match_recv *recv)
{
    const bool any_source = recv->source == MGDS_ANY_SOURCE;
    const bool any_tag = recv->tag == MGDS_ANY_TAG;

    if (any_source && any_tag)
        return;
    put_behind(match, recv, MGDS_ANY_SOURCE, MGDS_ANY_TAG);
    if (any_source || any_tag)
        return;
    put_behind(match, recv, MGDS_ANY_SOURCE, recv->tag);
    put_behind(match, recv, recv->source, MGDS_ANY_TAG);
}

bool mgds_posted_is_free(const struct mgds_match_recv *recv)
{
    bool behind = false;

    for (unsigned i = 0; i < MGDS_AHEAD_KINDS; i++)
        behind |= mgds_link_is_in(&recv->ahead[i]);
    return !behind;
}

struct mgds_match_recv *mgds_posted_first_free(struct mgds_match *match,
                                               int source, int tag)
{
    struct mgds_match_recv *recv = NULL;

    if (match->free[kind_of(source, tag)] > 0)
        recv = mgds_posted_first(match, source, tag);
    return recv && mgds_posted_is_free(recv) ? recv : NULL;
}

/* It is posted, and free, from now on; or is not any more. */
static void count_free(struct mgds_match *match,
                       const struct mgds_match_recv *recv, int change)
{
    if (mgds_posted_is_free(recv))
        match->free[kind_of(recv->source, recv->tag)] += change;
}

static void set_due(struct mgds_match *match, struct mgds_match_recv *recv)
{
    if (mgds_fifo_is_first(&recv->queue) && mgds_posted_is_free(recv))
        mgds_due_add_recv(match, recv);
}

void mgds_posted_add(struct mgds_match *match, struct mgds_match_recv *recv)
{
    recv->posted = true;
    recv->is_due = false;
    recv->stamp = match->stamp++;
    for (unsigned i = 0; i < MGDS_AHEAD_KINDS; i++)
        recv->ahead[i] = (struct mgds_link){.next = NULL};
    mgds_link_init(&recv->behind);
    recv->holds = (struct mgds_heap_node){.child = NULL};
    put_behind_all(match, recv);
    mgds_fifos_append(&match->posted, mgds_match_key(recv->source, recv->tag),
                      &recv->queue);
    match->all[kind_of(recv->source, recv->tag)]++;
    count_free(match, recv, 1);
    set_due(match, recv);
}

static void release_behind(struct mgds_match *match,
                           struct mgds_match_recv *recv)
{
    const enum mgds_match_ahead kind = kind_of(recv->source, recv->tag);
    struct mgds_link *link;

    while ((link = mgds_link_take(&recv->behind)) != NULL) {
        struct mgds_match_recv *later =
            MGDS_CONTAINER_OF(link, struct mgds_match_recv, ahead[kind]);

        match->looks++;
        count_free(match, later, 1);
        set_due(match, later);
    }
}

static void release_held(struct mgds_match *match, struct mgds_match_recv *recv,
                         uint64_t limit)
{
    struct mgds_heap_node *node;

    while ((node = mgds_heap_take(&recv->holds, limit, &match->looks)) !=
           NULL) {
        match->looks++;
        mgds_due_add_send(
            match, MGDS_CONTAINER_OF(node, struct mgds_match_send, held));
    }
}

/* The queue is past the receive, up to the next one. */
static void pass_recv(struct mgds_match *match, struct mgds_match_recv *recv,
                      struct mgds_match_recv *next)
{
    release_behind(match, recv);
    release_held(match, recv, next ? next->stamp : UINT64_MAX);
    if (!next)
        return;
    match->looks++;
    mgds_heap_move(&next->holds, &recv->holds);
    set_due(match, next);
}

void mgds_posted_remove(struct mgds_match *match, struct mgds_match_recv *recv)
{
    const bool first = mgds_fifo_is_first(&recv->queue);
    struct mgds_match_recv *prev = recv_of(recv->queue.prev);
    struct mgds_match_recv *next = recv_of(recv->queue.next);

    count_free(match, recv, -1);
    for (unsigned i = 0; i < MGDS_AHEAD_KINDS; i++)
        mgds_link_leave(&recv->ahead[i]);
    mgds_due_remove_recv(match, recv);
    mgds_fifos_remove(&match->posted, &recv->queue);
    recv->posted = false;
    match->all[kind_of(recv->source, recv->tag)]--;
    if (first)
        pass_recv(match, recv, next);
    else
        mgds_link_move(&prev->behind, &recv->behind);
}

void mgds_posted_hold(struct mgds_match_recv *first,
                      struct mgds_match_send *send, uint64_t stamp)
{
    mgds_heap_add(&first->holds, stamp, &send->held);
}
