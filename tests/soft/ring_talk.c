/* The envelopes, and the company, of ring_talk.h. */
#include "tests/soft/ring_talk.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "shim/gds/msg/engine.h"
#include "shim/gds/transport/channels.h"
#include "shim/gds/transport/own_rings.h"

uint64_t talk_here(const struct gpu_env *place)
{
    return mgds_gstream_context(place->stream.gstream)->id;
}

void talk_come(unsigned from, enum mgds_envelope kind, const void *head,
               size_t bytes)
{
    wire_author = from + 1;
    assert_int_equal(wire_come(kind, head, bytes, NULL, 0), HEARD);
    wire_author = 0;
}

void talk_ask(const struct gpu_env *place, unsigned from, uint32_t units)
{
    const struct mgds_ring_asked asked = {
        .ends = {TALK_THERE, talk_here(place)}, .token = 9, .units = units};

    talk_come(from, MGDS_ENVELOPE_RING_ASKED, &asked, sizeof(asked));
}

void talk_say(const struct gpu_env *place, unsigned from,
              enum mgds_envelope kind, uint32_t number)
{
    const struct mgds_ring_said said = {
        {TALK_THERE, talk_here(place)}, number, 0};

    talk_come(from, kind, &said, sizeof(said));
}

void talk_say_of(uint64_t there, const struct gpu_env *place,
                 enum mgds_envelope kind, uint32_t number, int error)
{
    const struct mgds_ring_said said = {
        {there, talk_here(place)}, number, error};

    talk_come(OTHER, kind, &said, sizeof(said));
}

struct mgds_ring_told talk_told(void)
{
    return gpu_env_await(MGDS_ENVELOPE_RING_TOLD)->head.ring_told;
}

bool talk_is_there(const struct gpu_env *place, uint32_t number)
{
    bool there;

    mgds_engine_enter();
    there = mgds_own_rings_place(number, OTHER + 1,
                                 mgds_gstream_context(place->stream.gstream), 0,
                                 1) != 0;
    mgds_engine_leave();
    return there;
}

void talk_open(struct talk_company *company, struct gpu_env *place)
{
    const struct mgds_comm_spec spec = {.rank = SELF,
                                        .size = RANKS,
                                        .streams = &place->stream.gstream,
                                        .stream_count = 1,
                                        .members = company->members};
    char *stream = (char *)calloc(1, mgds_channels_description(1));

    assert_non_null(stream);
    for (unsigned i = 0; i < RANKS; i++)
        company->members[i] = (struct mgds_member){.address = &wire_address[i],
                                                   .address_bytes = 1,
                                                   .process = i + 1,
                                                   .streams = 1,
                                                   .host = i == FAR ? 2 : 1};
    assert_int_equal(mgds_channels_create(&company->channels, &spec), 0);
    mgds_channels_describe(company->channels, stream);
    mgds_channels_connect(company->channels, OTHER, stream);
    free(stream);
}

struct mgds_comm *talk_comm(struct talk_company *company, struct gpu_env *place)
{
    const struct mgds_comm_spec spec = {.id = ID + 1,
                                        .rank = SELF,
                                        .size = RANKS,
                                        .streams = &place->stream.gstream,
                                        .stream_count = 1,
                                        .members = company->members,
                                        .channels = company->channels};
    struct mgds_comm *comm;

    assert_int_equal(mgds_comm_create(&comm, &spec), 0);
    mgds_channels_put(company->channels);
    return comm;
}

struct mgds_offer talk_offered(const struct talk_company *company)
{
    struct mgds_offer offered;

    assert_int_equal(mgds_channels_offer_bytes(company->channels, OTHER),
                     sizeof(offered));
    mgds_channels_write_offer(company->channels, OTHER, (char *)&offered);
    return offered;
}
