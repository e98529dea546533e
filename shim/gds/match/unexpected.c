/* Sends without a receive; see unexpected.h. */
#include "shim/gds/match/unexpected.h"

#include "shim/base/container.h"
#include "shim/gds/match/due.h"
#include "shim/gds/match/match_state.h"

/* Different for the first 2^32 messages of a source; who searches compares. */
static uint64_t key_of(int source, uint64_t number)
{
    return ((uint64_t)(uint32_t)source << 32) ^ number;
}

static struct mgds_match_send *send_of_tag(struct mgds_fifo_node *node)
{
    return node ? MGDS_CONTAINER_OF(node, struct mgds_match_send, of_tag)
                : NULL;
}

static struct mgds_match_send *send_of_source(struct mgds_fifo_node *node)
{
    return node ? MGDS_CONTAINER_OF(node, struct mgds_match_send, of_source)
                : NULL;
}

struct mgds_match_send *mgds_unexpected_find(struct mgds_match *match,
                                             int source, uint64_t number)
{
    struct mgds_fifo_node *node =
        mgds_fifos_first(&match->arrived, key_of(source, number));

    for (; node; node = node->next) {
        struct mgds_match_send *send =
            MGDS_CONTAINER_OF(node, struct mgds_match_send, arrived);

        if (send->source == source && send->number == number)
            return send;
        match->looks++;
    }
    return NULL;
}

void mgds_unexpected_arrive(struct mgds_match *match,
                            struct mgds_match_send *send)
{
    const struct mgds_fifo_node none = {.key = 0};

    send->of_tag = send->of_source = send->ready_tag = send->ready = none;
    send->held = (struct mgds_heap_node){.rank = 0};
    send->is_due = false;
    mgds_fifos_append(&match->arrived, key_of(send->source, send->number),
                      &send->arrived);
    match->sends++;
}

void mgds_unexpected_wait(struct mgds_match *match,
                          struct mgds_match_send *send)
{
    mgds_fifos_append(&match->unexpected,
                      mgds_match_key(send->source, send->tag), &send->of_tag);
    mgds_fifos_append(&match->unexpected,
                      mgds_match_key(send->source, MGDS_ANY_TAG),
                      &send->of_source);
}

void mgds_unexpected_set_due(struct mgds_match *match,
                             struct mgds_match_send *send)
{
    if (mgds_fifo_is_first(&send->of_tag))
        mgds_due_add_send(match, send);
}

/* The next with its source and tag comes first now. Unless it is reached only a
 * receive from that source may have it, and that one, if it is free, is due. */
static void follow_of_tag(struct mgds_match *match,
                          struct mgds_match_send *next)
{
    match->looks++;
    if (next->reached)
        mgds_due_add_send(match, next);
}

/* One send has gone, and these come first in its queues now, or NULL. Receives
 * with any tag may have the one that leads the source. */
static void follow_sends(struct mgds_match *match,
                         struct mgds_match_send *of_tag,
                         struct mgds_match_send *of_source)
{
    if (of_tag && of_tag != of_source)
        follow_of_tag(match, of_tag);
    if (!of_source)
        return;
    match->looks++;
    mgds_due_add_send(match, of_source);
}

void mgds_unexpected_remove(struct mgds_match *match,
                            struct mgds_match_send *send)
{
    struct mgds_match_send *of_tag = NULL, *of_source = NULL;

    if (mgds_fifo_is_first(&send->of_tag))
        of_tag = send_of_tag(send->of_tag.next);
    if (mgds_fifo_is_first(&send->of_source))
        of_source = send_of_source(send->of_source.next);
    mgds_due_remove_send(match, send);
    mgds_heap_remove(&send->held, &match->looks);
    mgds_unexpected_unset_ready(match, send);
    mgds_fifos_remove(&match->arrived, &send->arrived);
    mgds_fifos_remove(&match->unexpected, &send->of_tag);
    mgds_fifos_remove(&match->unexpected, &send->of_source);
    match->sends--;
    follow_sends(match, of_tag, of_source);
}

struct mgds_match_send *mgds_unexpected_first(struct mgds_match *match,
                                              int source, int tag)
{
    struct mgds_fifo_node *node =
        mgds_fifos_first(&match->unexpected, mgds_match_key(source, tag));

    return tag == MGDS_ANY_TAG ? send_of_source(node) : send_of_tag(node);
}

struct mgds_match_send *mgds_unexpected_first_ready(struct mgds_match *match,
                                                    int tag)
{
    struct mgds_fifo_node *node = mgds_fifos_first(
        &match->unexpected, mgds_match_key(MGDS_ANY_SOURCE, tag));

    if (!node)
        return NULL;
    if (tag == MGDS_ANY_TAG)
        return MGDS_CONTAINER_OF(node, struct mgds_match_send, ready);
    return MGDS_CONTAINER_OF(node, struct mgds_match_send, ready_tag);
}

void mgds_unexpected_set_ready(struct mgds_match *match,
                               struct mgds_match_send *send)
{
    if (!mgds_fifo_is_in(&send->ready_tag))
        mgds_fifos_append(&match->unexpected,
                          mgds_match_key(MGDS_ANY_SOURCE, send->tag),
                          &send->ready_tag);
    if (mgds_unexpected_leads(send) && !mgds_fifo_is_in(&send->ready))
        mgds_fifos_append(&match->unexpected,
                          mgds_match_key(MGDS_ANY_SOURCE, MGDS_ANY_TAG),
                          &send->ready);
}

void mgds_unexpected_unset_ready(struct mgds_match *match,
                                 struct mgds_match_send *send)
{
    mgds_fifos_remove(&match->unexpected, &send->ready_tag);
    mgds_fifos_remove(&match->unexpected, &send->ready);
}
