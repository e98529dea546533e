/* Frames, and what two ends make of them; see end.h. */
#include "shim/gds/hca/end.h"

#include <errno.h>
#include <string.h>

static const uint8_t magic[4] = {'m', 'g', 'd', 's'};

enum { LEAST_MTU = 1, MOST_MTU = 5, PKEY_FULL = 1 << 15, NUMBER = 1 << 24 };

static void store(uint8_t *at, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

static uint32_t load(const uint8_t *at, unsigned bytes)
{
    uint32_t number = 0;

    for (unsigned i = 0; i < bytes; i++)
        number |= (uint32_t)at[i] << 8 * i;
    return number;
}

static size_t offset_of(size_t rail)
{
    return 8 + rail * MGDS_END_RAIL_BYTES;
}

static void pack_rail(const struct mgds_end_rail *rail, uint8_t *at)
{
    store(at, rail->qpn, 4);
    store(at + 4, rail->psn, 4);
    store(at + 8, rail->lid, 2);
    store(at + 10, rail->pkey, 2);
    at[12] = rail->mtu;
    at[13] = (uint8_t)rail->link;
    memcpy(at + 16, rail->gid, sizeof(rail->gid));
}

void mgds_end_pack(const struct mgds_end *end, uint8_t frame[MGDS_END_BYTES])
{
    memset(frame, 0, MGDS_END_BYTES);
    memcpy(frame, magic, sizeof(magic));
    frame[4] = MGDS_END_VERSION;
    frame[5] = (uint8_t)end->rails;
    for (unsigned i = 0; i < end->rails; i++)
        pack_rail(&end->rail[i], frame + offset_of(i));
}

static void unpack_rail(struct mgds_end_rail *rail, const uint8_t *at)
{
    rail->qpn = load(at, 4);
    rail->psn = load(at + 4, 4);
    rail->lid = (uint16_t)load(at + 8, 2);
    rail->pkey = (uint16_t)load(at + 10, 2);
    rail->mtu = at[12];
    rail->link = (enum mgds_link)at[13];
    memcpy(rail->gid, at + 16, sizeof(rail->gid));
}

static bool is_possible(const struct mgds_end_rail *rail)
{
    return rail->qpn < NUMBER && rail->psn < NUMBER && rail->mtu >= LEAST_MTU &&
           rail->mtu <= MOST_MTU &&
           (rail->link == MGDS_LINK_INFINIBAND ||
            rail->link == MGDS_LINK_ETHERNET);
}

static int unpack_rails(struct mgds_end *end, const uint8_t *frame,
                        struct mgds_refusal *refusal)
{
    memset(end, 0, sizeof(*end));
    end->rails = frame[5];
    if (end->rails < 1 || end->rails > MGDS_END_RAILS)
        return mgds_refuse(refusal, MGDS_REFUSAL_FRAME, EPROTO);
    for (unsigned i = 0; i < end->rails; i++) {
        unpack_rail(&end->rail[i], frame + offset_of(i));
        if (!is_possible(&end->rail[i]))
            return mgds_refuse(refusal, MGDS_REFUSAL_FRAME, EPROTO);
    }
    return 0;
}

int mgds_end_unpack(struct mgds_end *end, const uint8_t *frame, size_t bytes,
                    struct mgds_refusal *refusal)
{
    if (bytes != MGDS_END_BYTES || memcmp(frame, magic, sizeof(magic)) != 0)
        return mgds_refuse(refusal, MGDS_REFUSAL_FRAME, EPROTO);
    if (frame[4] != MGDS_END_VERSION)
        return mgds_refuse(refusal, MGDS_REFUSAL_VERSION, EPROTO);
    return unpack_rails(end, frame, refusal);
}

/* One of two members of a partition is a full one. */
static bool are_of_one_partition(uint16_t a, uint16_t b)
{
    return ((a ^ b) & (PKEY_FULL - 1)) == 0 && ((a | b) & PKEY_FULL) != 0;
}

/* Over Ethernet there are GIDs alone. */
static bool has_address(const struct mgds_end_rail *rail)
{
    static const uint8_t none[sizeof(rail->gid)];

    return memcmp(rail->gid, none, sizeof(none)) != 0 ||
           (rail->link == MGDS_LINK_INFINIBAND && rail->lid != 0);
}

static enum mgds_refusal_reason compare(const struct mgds_end_rail *a,
                                        const struct mgds_end_rail *b)
{
    if (a->link != b->link)
        return MGDS_REFUSAL_LINKS;
    if (!are_of_one_partition(a->pkey, b->pkey))
        return MGDS_REFUSAL_PKEYS;
    if (!has_address(a) || !has_address(b))
        return MGDS_REFUSAL_NO_ADDRESS;
    return MGDS_REFUSAL_NONE;
}

int mgds_end_agree(const struct mgds_end *mine, const struct mgds_end *theirs,
                   struct mgds_terms *terms, struct mgds_refusal *refusal)
{
    unsigned rails = mine->rails < theirs->rails ? mine->rails : theirs->rails;

    for (unsigned i = 0; i < rails; i++) {
        const struct mgds_end_rail *a = &mine->rail[i], *b = &theirs->rail[i];
        enum mgds_refusal_reason reason = compare(a, b);

        if (reason != MGDS_REFUSAL_NONE)
            return mgds_refuse(refusal, reason, 0);
        terms->mtu[i] = a->mtu < b->mtu ? a->mtu : b->mtu;
    }
    terms->rails = rails;
    return 0;
}
