/* Heads of envelopes, drawn at random; see heads.h. */
#include "tests/fuzz/heads.h"

#include "tests/fuzz/world.h"

/* Mostly one that there is. */
static uint32_t some_rank(unsigned sender)
{
    return world_draw(16) == 0 ? (uint32_t)world_draw(5) : sender;
}

static uint64_t some_id(void)
{
    return world_draw(16) == 0 ? 1 + world_draw(3) : 77;
}

/* Mostly the one that the rest is of. */
static uint32_t some_protocol(const struct mgds_rts *rts)
{
    if (world_draw(16) == 0)
        return (uint32_t)world_draw(MGDS_PROTOCOLS + 1);
    if (rts->address != 0)
        return MGDS_PROTOCOL_RGET;
    return rts->serial != 0 ? MGDS_PROTOCOL_EAGER : MGDS_PROTOCOL_FRAGMENTS;
}

static size_t fill_rts(union mgds_envelope_head *head, unsigned sender)
{
    head->rts = (struct mgds_rts){
        .comm = some_id(),
        .number = world_number(sender),
        .request_id = world_draw(UINT64_MAX),
        .bytes = world_bytes(),
        .tag = (int32_t)world_draw(3),
        .rank = some_rank(sender),
        .index = world_draw(16) == 0 ? 1 : 0,
        .to_index = world_draw(16) == 0 ? 1 : 0,
        .reached = world_draw(4) != 0,
        .sync = world_draw(8) == 0,
        .stands = world_draw(8) == 0,
        .serial = world_draw(8) == 0 ? world_draw(100) : 0,
        .address = world_draw(8) == 0 ? world_draw(UINT64_MAX) : 0,
        .export = world_draw(2)};
    head->rts.protocol = some_protocol(&head->rts) & 3;
    return mgds_rts_bytes(&head->rts);
}

static size_t fill_taken(union mgds_envelope_head *head, unsigned sender)
{
    uint64_t bytes;

    head->taken.count = (uint32_t)world_draw(MGDS_TAKEN_MOST + 2);
    head->taken.rank = some_rank(sender);
    for (unsigned i = 0; i < MGDS_TAKEN_MOST; i++)
        head->taken.request_id[i] = world_request_id(&bytes);
    return offsetof(struct mgds_taken, request_id) +
           world_draw(MGDS_TAKEN_MOST + 1) * sizeof(uint64_t);
}

static size_t fill_memory(union mgds_envelope_head *head, unsigned kind,
                          unsigned sender)
{
    if (kind == MGDS_ENVELOPE_IMPORTED) {
        head->imported =
            (struct mgds_imported){.comm = some_id(),
                                   .export = world_draw(4),
                                   .rank = some_rank(sender),
                                   .error = -(int32_t)world_draw(40)};
        return sizeof(head->imported);
    }
    head->exported = (struct mgds_exported){
        .comm = some_id(),
        .rank = some_rank(sender),
        .gone = (uint32_t)world_draw(2),
        .handle = {.id = world_draw(4), .base = 4096, .size = 8}};
    return sizeof(head->exported);
}

static size_t fill_end(union mgds_envelope_head *head, unsigned kind,
                       unsigned sender)
{
    uint64_t bytes = 0, request_id = world_request_id(&bytes);

    if (kind == MGDS_ENVELOPE_ENDED) {
        head->ended = (struct mgds_ended){request_id, -(int32_t)world_draw(200),
                                          some_rank(sender)};
        return sizeof(head->ended);
    }
    head->revoke = (struct mgds_revoke){.message = {.comm = some_id(),
                                                    .number = world_draw(20),
                                                    .rank = some_rank(sender)},
                                        .request_id = request_id};
    return sizeof(head->revoke);
}

/* Of one in eight messages in parts. */
static size_t fill_pull(union mgds_envelope_head *head, unsigned sender)
{
    uint64_t bytes = 0;

    head->pull = (struct mgds_pull){.request_id = world_request_id(&bytes),
                                    .answer = world_draw(UINT64_MAX),
                                    .rank = some_rank(sender)};
    head->pull.bytes =
        world_draw(8) ? bytes : world_draw((uint64_t)2 * WORLD_LONG);
    head->pull.part = world_draw(8) ? 0 : (uint32_t)world_draw(WORLD_LONG);
    return sizeof(head->pull);
}

static size_t fill_data(union mgds_envelope_head *head, unsigned sender,
                        size_t *body_bytes)
{
    uint64_t bytes = 0;

    head->data = (struct mgds_data){.answer = world_request_id(&bytes),
                                    .rank = some_rank(sender)};
    head->data.error = world_draw(12) ? 0 : -(int32_t)world_draw(200);
    head->data.part = world_draw(8) == 0;
    if (head->data.part && bytes > 0) {
        head->data.first = world_draw(4) ? world_draw(bytes) : world_draw(4096);
        bytes -= head->data.first < bytes ? head->data.first : 0;
    }
    *body_bytes = world_draw(8) ? bytes : world_draw((uint64_t)2 * WORLD_LONG);
    return sizeof(head->data);
}

static size_t fill_grant(union mgds_envelope_head *head, unsigned sender)
{
    uint64_t bytes = 0;

    head->grant = (struct mgds_grant){.request_id = world_request_id(&bytes),
                                      .rank = some_rank(sender)};
    head->grant.bytes = world_draw(8) ? world_draw(bytes + 1)
                                      : world_draw((uint64_t)2 * WORLD_LONG);
    return sizeof(head->grant);
}

/* Between contexts that there are none of, and rings that nobody has. */
static size_t fill_ring(union mgds_envelope_head *head, unsigned kind)
{
    const struct mgds_ring_ends ends = {world_draw(3), world_draw(3)};
    const int32_t error = -(int32_t)world_draw(3);

    if (kind == MGDS_ENVELOPE_RING_ASKED) {
        head->ring_asked = (struct mgds_ring_asked){
            ends, world_draw(3), (uint32_t)world_draw(UINT32_MAX), 0};
        return sizeof(head->ring_asked);
    }
    if (kind == MGDS_ENVELOPE_RING_TOLD) {
        head->ring_told = (struct mgds_ring_told){
            .ends = ends,
            .token = world_draw(3),
            .error = error,
            .number = (uint32_t)world_draw(3),
            .handle = {.units = (uint32_t)world_draw(1000)}};
        return sizeof(head->ring_told);
    }
    head->ring_said =
        (struct mgds_ring_said){ends, (uint32_t)world_draw(3), error};
    return sizeof(head->ring_said);
}

size_t heads_draw(union mgds_envelope_head *head, unsigned kind,
                  unsigned sender, size_t *body_bytes)
{
    *body_bytes = 0;
    switch (kind) {
    case MGDS_ENVELOPE_RTS:
        return fill_rts(head, sender);
    case MGDS_ENVELOPE_PULL:
        return fill_pull(head, sender);
    case MGDS_ENVELOPE_DATA:
        return fill_data(head, sender, body_bytes);
    case MGDS_ENVELOPE_GRANT:
        return fill_grant(head, sender);
    case MGDS_ENVELOPE_RING_ASKED:
    case MGDS_ENVELOPE_RING_TOLD:
    case MGDS_ENVELOPE_RING_MAPPED:
    case MGDS_ENVELOPE_RING_SHORT:
    case MGDS_ENVELOPE_RING_CLOSED:
        return fill_ring(head, kind);
    case MGDS_ENVELOPE_TAKEN:
        return fill_taken(head, sender);
    case MGDS_ENVELOPE_REVOKE:
    case MGDS_ENVELOPE_ENDED:
        return fill_end(head, kind, sender);
    case MGDS_ENVELOPE_EXPORT:
    case MGDS_ENVELOPE_IMPORTED:
        return fill_memory(head, kind, sender);
    default:
        head->tell = (struct mgds_tell){.comm = some_id(),
                                        .number = world_draw(20),
                                        .rank = some_rank(sender)};
        return sizeof(head->tell);
    }
}
