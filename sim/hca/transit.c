/* Writes on their way. */
#include "sim/hca/transit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/piece.h"
#include "sim/hca/qp.h"
#include "sim/hca/random.h"

/* Writes that are held, of so many bytes at most. */
enum { PLACES = 256, BYTES = 4096 };

enum { HOST = -1 };

/* A write. Those that keep an order of theirs have times that ascend, in the
 * order of the list. */
struct held {
    struct held *next;
    const struct mgds_hca_qp *qp;
    uint8_t *to;
    uint64_t bytes;
    uint64_t due;
    int gpu;     /* or HOST */
    bool strict; /* CQEs and ACKs of its QP tell of it */
    uint8_t payload[BYTES];
};

struct known {
    struct mgds_hca_region region;
    struct known *next;
};

struct mgds_hca_transit {
    struct held *first;
    struct held **end; /* where the next one goes */
    struct held *unused;
    struct known *known;
    unsigned loose; /* of those: not all is in order there */
    uint64_t random;
    struct held place[PLACES];
};

static struct mgds_hca_transit *create(uint64_t seed)
{
    struct mgds_hca_transit *transit = calloc(1, sizeof(*transit));

    if (!transit)
        return NULL;
    transit->end = &transit->first;
    transit->random = seed + 1; /* not 0 */
    for (unsigned i = 0; i < PLACES; i++) {
        transit->place[i].next = transit->unused;
        transit->unused = &transit->place[i];
    }
    return transit;
}

static bool is_loose(const struct mgds_hca *hca,
                     const struct mgds_hca_region *region)
{
    return !region->far && region->ordering != MGDS_HCA_ORDERING_ALL &&
           hca->config.late_write > 0;
}

int mgds_hca_transit_add(struct mgds_hca *hca,
                         const struct mgds_hca_region *region)
{
    struct known *known;
    bool loose = is_loose(hca, region);

    if (!loose && !region->far)
        return 0;
    if (!hca->transit)
        hca->transit = create(hca->config.seed);
    known = malloc(sizeof(*known));
    if (!hca->transit || !known) {
        free(known);
        return -ENOMEM;
    }
    *known = (struct known){.region = *region, .next = hca->transit->known};
    hca->transit->known = known;
    hca->transit->loose += loose;
    return 0;
}

void mgds_hca_transit_drop(struct mgds_hca *hca, const void *at)
{
    struct known **link, *known;

    if (!hca->transit)
        return;
    for (link = &hca->transit->known; (known = *link); link = &known->next) {
        if (known->region.at == at) {
            *link = known->next;
            hca->transit->loose -= is_loose(hca, &known->region);
            free(known);
            return;
        }
    }
}

void mgds_hca_transit_fini(struct mgds_hca *hca)
{
    struct known *known;

    if (!hca->transit)
        return;
    while ((known = hca->transit->known)) {
        hca->transit->known = known->next;
        free(known);
    }
    free(hca->transit);
    hca->transit = NULL;
}

/* NULL: host memory. */
static const struct mgds_hca_region *
find_region(const struct mgds_hca_transit *transit, const uint8_t *at)
{
    for (struct known *known = transit->known; known; known = known->next) {
        if ((uintptr_t)at - (uintptr_t)known->region.at < known->region.bytes)
            return &known->region;
    }
    return NULL;
}

/* Takes it off the list, and its bytes go where they belong. */
static void land(struct mgds_hca_transit *transit, struct held **link)
{
    struct held *held = *link;
    struct mgds_hca_list to, from;

    *link = held->next;
    if (transit->end == &held->next)
        transit->end = link;
    mgds_hca_list_one(&to, held->to, held->bytes);
    mgds_hca_list_one(&from, held->payload, held->bytes);
    mgds_hca_list_copy(&to, &from);
    held->next = transit->unused;
    transit->unused = held;
}

/* The writes that are to arrive. */
struct choice {
    const struct mgds_hca_qp *qp; /* NULL: of any */
    bool strict;                  /* those alone */
    bool by_gpu;
    int gpu;
    uint64_t until; /* due then */
};

static bool is_chosen(const struct held *held, const struct choice *choice)
{
    return (!choice->qp || held->qp == choice->qp) &&
           (!choice->strict || held->strict) &&
           (!choice->by_gpu || held->gpu == choice->gpu) &&
           held->due <= choice->until;
}

/* Writes arrive in the order of the list: no choice takes one and leaves
 * another that must come before it. */
static int land_chosen(struct mgds_hca *hca, const struct choice *choice)
{
    struct held **link;
    int did = 0;

    if (!hca->transit)
        return 0;
    for (link = &hca->transit->first; *link;) {
        if (is_chosen(*link, choice)) {
            land(hca->transit, link);
            did++;
        } else {
            link = &(*link)->next;
        }
    }
    return did;
}

static bool overlaps(const struct held *held, const uint8_t *at, uint64_t bytes)
{
    return (uintptr_t)at - (uintptr_t)held->to < held->bytes ||
           (uintptr_t)held->to - (uintptr_t)at < bytes;
}

static uint64_t choose_time(struct mgds_hca *hca, const struct held *held)
{
    struct mgds_hca_transit *transit = hca->transit;
    uint64_t due = mgds_hca_now(hca) + 1 +
                   mgds_hca_random(&transit->random) % hca->config.late_write;

    for (const struct held *it = transit->first; it; it = it->next) {
        bool ordered = held->strict && it->gpu == held->gpu;

        if (it->qp == held->qp && it->due > due &&
            (ordered || overlaps(it, held->to, held->bytes)))
            due = it->due;
    }
    return due;
}

static void hold(const struct mgds_hca_qp *qp,
                 const struct mgds_hca_region *region, uint8_t *to,
                 const struct mgds_hca_list *payload)
{
    struct mgds_hca_transit *transit = qp->hca->transit;
    struct mgds_hca_list copy;
    struct held *held;

    if (!transit->unused)
        land(transit, &transit->first);
    held = transit->unused;
    transit->unused = held->next;
    held->next = NULL;
    held->qp = qp;
    held->to = to;
    held->bytes = payload->bytes;
    held->gpu = region ? (int)region->gpu : HOST;
    held->strict = !region || region->ordering == MGDS_HCA_ORDERING_OWNER;
    mgds_hca_list_one(&copy, held->payload, sizeof(held->payload));
    mgds_hca_list_copy(&copy, payload);
    held->due = choose_time(qp->hca, held);
    *transit->end = held;
    transit->end = &held->next;
}

static void hold_piece(const struct mgds_hca_qp *qp,
                       const struct mgds_hca_region *region,
                       const struct mgds_hca_piece *piece,
                       const struct mgds_hca_list *from, uint64_t offset)
{
    struct mgds_hca_list part;
    uint64_t bytes;

    for (uint64_t at = 0; at < piece->bytes; at += bytes) {
        bytes = piece->bytes - at < BYTES ? piece->bytes - at : BYTES;
        mgds_hca_list_part(&part, from, offset + at, bytes);
        if (part.bytes == 0)
            return;
        hold(qp, region, piece->at + at, &part);
    }
}

static void push(const struct mgds_hca_region *region, const uint8_t *at,
                 uint64_t bytes)
{
    uint64_t offset = (uint64_t)(at - (const uint8_t *)region->at);

    region->far->push(region->far->ctx, offset, bytes);
}

/* Stores what of `from` goes to this piece, which is of one key and so of one
 * region at most. */
static void store_piece(const struct mgds_hca_qp *qp,
                        const struct mgds_hca_piece *piece,
                        const struct mgds_hca_list *from, uint64_t offset)
{
    const struct mgds_hca_transit *transit = qp->hca->transit;
    const struct mgds_hca_region *region = find_region(transit, piece->at);
    bool far = region && region->far;
    struct mgds_hca_list to, part;

    if (!far && transit->loose) {
        hold_piece(qp, region, piece, from, offset);
        return;
    }
    mgds_hca_list_part(&part, from, offset, piece->bytes);
    mgds_hca_list_one(&to, piece->at, part.bytes);
    mgds_hca_list_copy(&to, &part);
    if (far)
        push(region, piece->at, part.bytes);
}

void mgds_hca_transit_store(const struct mgds_hca_qp *qp,
                            const struct mgds_hca_list *to,
                            const struct mgds_hca_list *from)
{
    uint64_t offset = 0;

    if (!qp->hca->transit || !qp->hca->transit->known) {
        mgds_hca_list_copy(to, from);
        return;
    }
    for (unsigned i = 0; i < to->count && offset < from->bytes; i++) {
        store_piece(qp, &to->piece[i], from, offset);
        offset += to->piece[i].bytes;
    }
}

void mgds_hca_transit_changed(struct mgds_hca *hca, void *at, uint64_t bytes)
{
    const struct mgds_hca_region *region =
        hca->transit ? find_region(hca->transit, at) : NULL;

    if (region && region->far)
        push(region, at, bytes);
}

static void pull(const struct mgds_hca_region *region,
                 const struct mgds_hca_piece *piece)
{
    uint64_t offset = (uint64_t)(piece->at - (uint8_t *)region->at);

    region->far->pull(region->far->ctx, offset, piece->bytes);
}

void mgds_hca_transit_read(struct mgds_hca *hca,
                           const struct mgds_hca_list *list)
{
    struct choice choice = {.by_gpu = true, .until = UINT64_MAX};

    if (!hca->transit)
        return;
    for (unsigned i = 0; i < list->count; i++) {
        const struct mgds_hca_region *region =
            find_region(hca->transit, list->piece[i].at);

        choice.gpu = region ? (int)region->gpu : HOST;
        land_chosen(hca, &choice);
        if (region && region->far)
            pull(region, &list->piece[i]);
    }
}

void mgds_hca_transit_flush(struct mgds_hca *hca, unsigned gpu)
{
    struct choice choice = {
        .by_gpu = true, .gpu = (int)gpu, .until = UINT64_MAX};

    land_chosen(hca, &choice);
}

void mgds_hca_transit_settle(struct mgds_hca *hca, const struct mgds_hca_qp *qp)
{
    struct choice choice = {.qp = qp, .strict = true, .until = UINT64_MAX};

    land_chosen(hca, &choice);
}

bool mgds_hca_transit_busy(const struct mgds_hca_qp *qp)
{
    struct choice choice = {.qp = qp, .strict = true, .until = UINT64_MAX};

    if (!qp->hca->transit)
        return false;
    for (struct held *held = qp->hca->transit->first; held; held = held->next) {
        if (is_chosen(held, &choice))
            return true;
    }
    return false;
}

void mgds_hca_transit_land(struct mgds_hca *hca)
{
    struct choice choice = {.until = UINT64_MAX};

    land_chosen(hca, &choice);
}

int mgds_hca_transit_run(struct mgds_hca *hca)
{
    struct choice choice = {0};

    if (!hca->transit || !hca->transit->first)
        return 0;
    choice.until = mgds_hca_now(hca);
    return land_chosen(hca, &choice);
}

uint64_t mgds_hca_transit_due(const struct mgds_hca *hca)
{
    uint64_t due = 0;

    if (!hca->transit)
        return 0;
    for (struct held *held = hca->transit->first; held; held = held->next) {
        if (due == 0 || held->due < due)
            due = held->due;
    }
    return due;
}
