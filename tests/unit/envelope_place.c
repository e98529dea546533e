/* The communicator, operations and envelopes of envelope_place.h. */
#include "tests/unit/envelope_place.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/stats.h"

void env_open_early(struct env_place *place)
{
    const void *address;
    size_t bytes;

    *place = (struct env_place){.comm = NULL};
    assert_int_equal(mgds_layout_bytes(&place->layout, 1, 1), 0);
    assert_int_equal(mgds_comms_open(true, &address, &bytes), 0);
    place->memory = (unsigned char *)malloc((size_t)2 * LONG_BYTES);
    assert_non_null(place->memory);
    memset(place->memory, 0xee, (size_t)2 * LONG_BYTES);
    place->refused = mgds_stats_value(MGDS_STAT_envelopes_refused);
}

static void make(struct env_place *place, uint64_t id, unsigned streams)
{
    struct mgds_gstream *none[OWN_STREAMS] = {NULL};
    const struct mgds_member members[RANKS] = {
        {.address = &wire_address[SELF], .address_bytes = 1, .process = 1},
        {.address = &wire_address[OTHER],
         .address_bytes = 1,
         .process = 2,
         .streams = OTHER_STREAMS},
        {.address = &wire_address[THIRD], .address_bytes = 1, .process = 3}};
    struct mgds_comm_spec spec = {.id = id,
                                  .rank = SELF,
                                  .size = RANKS,
                                  .members = members,
                                  .streams = none,
                                  .stream_count = streams};

    /* as every communicator has one: without a stream it has no ring */
    assert_int_equal(mgds_channels_create(&spec.channels, &spec), 0);
    assert_int_equal(mgds_comm_create(&place->comm, &spec), 0);
    mgds_channels_put(spec.channels);
}

void env_make(struct env_place *place, uint64_t id)
{
    make(place, id, 0);
}

void env_open(struct env_place *place)
{
    env_open_with(place, 0);
}

void env_open_with(struct env_place *place, unsigned streams)
{
    env_open_early(place);
    make(place, ID, streams);
}

void env_close(struct env_place *place)
{
    mgds_comm_put(place->comm);
    mgds_comms_fini();
    mgds_layout_put(place->layout);
    free(place->memory);
}

unsigned env_refused(struct env_place *place)
{
    uint64_t now = mgds_stats_value(MGDS_STAT_envelopes_refused);
    unsigned since = (unsigned)(now - place->refused);

    place->refused = now;
    return since;
}

struct mgds_xfer env_xfer_of(const struct env_place *place, size_t bytes)
{
    return (struct mgds_xfer){
        .buffer = {.addr = place->memory,
                   .count = bytes,
                   .layout = place->layout},
        .peer = OTHER,
        .tag = TAG,
    };
}

struct mgds_op *env_send_to_other(struct env_place *place, size_t bytes)
{
    const struct mgds_xfer xfer = env_xfer_of(place, bytes);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_send(&op, place->comm, &xfer), 0);
    return op;
}

struct mgds_op *env_recv_from_other(struct env_place *place, size_t bytes)
{
    const struct mgds_xfer xfer = env_xfer_of(place, bytes);
    struct mgds_op *op = NULL;

    assert_int_equal(mgds_op_recv(&op, place->comm, &xfer), 0);
    return op;
}

struct mgds_rts env_rts_of(uint64_t number, size_t bytes)
{
    return (struct mgds_rts){.comm = ID,
                             .number = number,
                             .request_id = 4711,
                             .bytes = bytes,
                             .tag = TAG,
                             .rank = OTHER,
                             .reached = 1};
}

uint64_t env_asked(struct env_place *place, struct mgds_op **op, size_t bytes,
                   size_t sent)
{
    const struct mgds_rts rts = env_rts_of(0, sent);
    const struct wire_post *post;

    *op = env_recv_from_other(place, bytes);
    wire_come_rts(&rts);
    post = wire_posted(MGDS_ENVELOPE_PULL);
    assert_non_null(post);
    assert_int_equal(post->head.pull.request_id, 4711);
    assert_int_equal(post->head.pull.rank, SELF);
    assert_int_equal(post->head.pull.bytes, sent < bytes ? sent : bytes);
    return post->head.pull.answer;
}

uint64_t env_request_id_of_send(void)
{
    const struct wire_post *post = wire_posted(MGDS_ENVELOPE_RTS);

    assert_non_null(post);
    return post->head.rts.request_id;
}

int env_ends(struct mgds_op *op)
{
    struct mgds_op_status status;

    assert_int_equal(mgds_op_test(op), 1);
    mgds_op_status(op, &status);
    mgds_op_put(op);
    return status.error;
}

void env_assert_brings_all(struct mgds_op *op)
{
    const uint64_t answer = wire_posted(MGDS_ENVELOPE_PULL)->head.pull.answer;

    assert_int_equal(wire_come_data(answer, BYTES, OTHER), 0);
    assert_int_equal(env_ends(op), 0);
}

void env_assert_landed(const struct env_place *place, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(place->memory[i], 0x11);
    for (size_t i = bytes; i < bytes + 64; i++)
        assert_int_equal(place->memory[i], 0xee);
}
