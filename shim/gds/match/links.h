/* Rings of links: a member needs no list to leave, and the members of one ring
 * go over to another at once. */
#ifndef MGDS_MATCH_LINKS_H
#define MGDS_MATCH_LINKS_H

#include <stdbool.h>
#include <stddef.h>

struct mgds_link {
    struct mgds_link *next, *prev; /* NULL: in no ring */
};

/* A ring of its own, which others may join. */
static inline void mgds_link_init(struct mgds_link *ring)
{
    ring->next = ring->prev = ring;
}

static inline bool mgds_link_is_in(const struct mgds_link *link)
{
    return link->next;
}

static inline void mgds_link_join(struct mgds_link *ring,
                                  struct mgds_link *link)
{
    link->next = ring;
    link->prev = ring->prev;
    link->prev->next = ring->prev = link;
}

static inline void mgds_link_leave(struct mgds_link *link)
{
    if (!link->next)
        return;
    link->next->prev = link->prev;
    link->prev->next = link->next;
    link->next = link->prev = NULL;
}

/* All that have joined one ring are in the other; the ring is out of use. */
static inline void mgds_link_move(struct mgds_link *to, struct mgds_link *ring)
{
    ring->next->prev = to->prev;
    to->prev->next = ring->next;
    ring->prev->next = to;
    to->prev = ring->prev;
    ring->next = ring->prev = NULL;
}

/* Takes one out, or NULL. */
static inline struct mgds_link *mgds_link_take(struct mgds_link *ring)
{
    struct mgds_link *link = ring->next;

    if (link == ring)
        return NULL;
    mgds_link_leave(link);
    return link;
}

#endif
