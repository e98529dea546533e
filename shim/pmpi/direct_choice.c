/* Whether a message goes by header. */
#include "shim/pmpi/direct_choice.h"

#include "shim/gds/direct/header.h"

/* How long a header is left to a receiver that does not come: one that is
 * elsewhere, and one that is in a call that serves, and makes no passes. */
struct patience {
    uint64_t elsewhere, serving; /* ns */
};

/* Many times what begins a copy, and less than what a program notices that sits
 * elsewhere; and many times what a scheduler gives to others. */
static const struct patience waiting = {1000000, 50000000};

/* A receiver that stands at its receive matches a header within some 2 us;
 * windows of receives take a few us each. */
static const struct patience not_waiting = {50000, 1000000};

static bool is_long(size_t bytes, enum mgds_direct_peer peer,
                    const struct mgds_direct_from *from)
{
    return from->any > 0 && bytes >= from->any && bytes >= MGDS_HEADER_BYTES &&
           (peer != MGDS_DIRECT_PEER_SHARES ||
            (from->shared > 0 && bytes >= from->shared));
}

enum mgds_direct_choice
mgds_direct_choose(const struct mgds_direct_message *message,
                   enum mgds_direct_peer peer,
                   const struct mgds_direct_from *from)
{
    if (!is_long(message->bytes, peer, from) || !message->exportable ||
        !message->dense || peer == MGDS_DIRECT_PEER_FAR)
        return MGDS_DIRECT_STAGE;
    return peer == MGDS_DIRECT_PEER_NEAR ? MGDS_DIRECT_SAMPLE
                                         : MGDS_DIRECT_HEADER;
}

static bool is_over(const struct mgds_direct_wait *wait, uint64_t now,
                    uint64_t serving, const struct patience *patience)
{
    bool inside = serving & 1;

    return now - wait->since >=
           (inside ? patience->serving : patience->elsewhere);
}

static bool has_left_it(const struct mgds_direct_wait *wait, uint64_t serving)
{
    return (serving >> 1) - (wait->served >> 1) >= 2;
}

bool mgds_direct_is_due(const struct mgds_direct_wait *wait, uint64_t now,
                        uint64_t serving, bool eager)
{
    return has_left_it(wait, serving) ||
           is_over(wait, now, serving, eager ? &not_waiting : &waiting);
}

/* That it has looked twice says nothing as long as it may be about to begin the
 * receive. */
bool mgds_direct_is_late(const struct mgds_direct_wait *wait, uint64_t now,
                         uint64_t serving)
{
    bool left = has_left_it(wait, serving);

    return is_over(wait, now, left ? 0 : serving, &not_waiting);
}
