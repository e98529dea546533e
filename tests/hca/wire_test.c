/* What goes wrong between two devices on the medium of a host, and what may
 * come there from anywhere. */
#include <errno.h>
#include <string.h>

#include "tests/hca/draw.h"
#include "tests/hca/place.h"
#include "tests/lib/sanitized.h"

enum { NOISE = 100000, LONG = 60000 };

static void send_long(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, LONG);

    run_one(&place->a, &wqe);
    expect_cqe(&place->a.sends, 0, 0);
    assert_memory_equal(place->b.memory, place->a.memory, LONG);
    memset(place->a.memory, 0, LONG);
    wqe = wqe_read(&place->a, 0, LONG);
    run_one(&place->a, &wqe);
    expect_cqe(&place->a.sends, 0, 1);
    assert_memory_equal(place->b.memory, place->a.memory, LONG);
}

static void long_messages_arrive(void **state)
{
    static const char *const faults[] = {NULL, "drop=1%",
                                         "reorder=2%,duplicate=2%"};
    struct place place;

    (void)state;
    for (uint16_t mtu = 256; mtu <= 4096; mtu = (uint16_t)(mtu * 2)) {
        for (unsigned i = 0; i < 3; i++) {
            place_open(&place, &(struct options){.packets = true,
                                                 .mtu = mtu,
                                                 .psn = 0xffffff - 5,
                                                 .faults = faults[i]});
            send_long(&place);
            place_close(&place);
        }
    }
}

static void who_does_not_answer_exceeds_retries(void **state)
{
    struct options options = {
        .packets = true, .unconnected = true, .retries = 3};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place_connect(&place.a, place.a.qp, PLACE_QPN_B);
    wqe = wqe_write(&place.a, 0, 8);
    run_one(&place.a, &wqe);
    assert_int_equal(expect_error(&place.a.sends, 0x15, 0).vendor, 0x81);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.clock, 1 + 4 * (UINT64_C(4096) << PLACE_TIMEOUT));
    assert_int_equal(place.b.port->ignored, 4);
    place_close(&place);
}

/* A thread that comes late finds the answer there, and sends nothing again,
 * whatever it does first. */
static void an_answer_that_is_there_counts(void **state)
{
    struct options options = {.packets = true};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (uint16_t i = 0; i < 3; i++) {
        wqe = wqe_write(&place.a, i * (size_t)8, 8);
        post(&place.a, &wqe);
        ring(&place.a);
        mgds_hca_run(place.a.hca);
        assert_int_equal(place.a.port->outlet.sent, i + 1);
        mgds_hca_run(place.b.hca);
        place.clock += UINT64_C(100) * 4096 << PLACE_TIMEOUT;
    }
    place_run(&place);
    for (uint16_t i = 0; i < 3; i++)
        expect_cqe(&place.a.sends, 0, i);
    assert_int_equal(place.a.port->outlet.sent, 3);
    place_close(&place);
}

static void a_device_that_died_is_not_waited_for(void **state)
{
    struct options options = {.packets = true, .faults = "die=1"};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_write(&place.a, 0, 8);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x15, 0);
    place_close(&place);
}

static void a_peer_without_receives_ends_in_rnr(void **state)
{
    struct options options = {.packets = true, .rnr_retry = 2};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_send(&place.a, 0, 64);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x16, 0);
    assert_int_equal(place.clock, 1 + 2 * mgds_hca_rnr_ns(7));
    assert_int_equal(place.b.qp->state, MGDS_STATE_RTS);
    place_close(&place);
}

static void receives_may_come_late(void **state)
{
    struct options options = {.packets = true};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (int i = 0; i < 4; i++) {
        wqe = wqe_send(&place.a, (size_t)i * 5000, 5000);
        post(&place.a, &wqe);
    }
    ring(&place.a);
    for (uint16_t i = 0; i < 4; i++) {
        for (int storm = 0; storm < 20; storm++) {
            mgds_hca_run(place.a.hca);
            mgds_hca_run(place.b.hca);
            place.clock += UINT64_C(2) * PLACE_DELAY;
        }
        expect_none(&place.a.sends);
        post_receive(&place.b, 30000 + i * (size_t)5000, 5000);
        for (int turn = 0; turn < 20; turn++) {
            mgds_hca_run(place.a.hca);
            mgds_hca_run(place.b.hca);
            place.clock += PLACE_DELAY;
        }
        expect_cqe(&place.b.receives, 2, i);
        expect_cqe(&place.a.sends, 0, i);
    }
    assert_memory_equal(place.b.memory + 30000, place.a.memory, 20000);
    place_close(&place);
}

static void errors_of_the_peer_come_back(void **state)
{
    struct options options = {.packets = true, .mtu = 256};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
    wqe_raddr(&wqe, place_address(&place.b, PLACE_MEMORY - 100), place.b.key);
    wqe_data(&wqe, 1000, place.a.key, place_address(&place.a, 0));
    run_one(&place.a, &wqe);
    assert_int_equal(expect_error(&place.a.sends, 0x13, 0).vendor, 0x88);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.b.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.event[0], MGDS_EVENT_QP_ACCESS_ERR);
    place_close(&place);
}

/* How one side of a connection is wrong, and what becomes of a WRITE of many
 * packets. With a PSN that is early by one the first packet is a duplicate, and
 * the second one is due though it begins no message. */
struct wrong {
    void (*make)(struct mgds_hca_change *change);
    uint8_t syndrome;
    enum mgds_hca_state b; /* the state of the responder's QP */
};

static void wrong_lid(struct mgds_hca_change *change)
{
    change->address.lid = 200;
}

static void wrong_gid(struct mgds_hca_change *change)
{
    change->address.gid.raw[3] ^= 1;
    change->address.global = true;
}

static void wrong_qpn(struct mgds_hca_change *change)
{
    change->peer++;
}

static void wrong_pkey(struct mgds_hca_change *change)
{
    change->pkey = 0x8001;
}

static void early_psn(struct mgds_hca_change *change)
{
    change->send_psn--;
}

static void late_psn(struct mgds_hca_change *change)
{
    change->send_psn++;
}

static void wrong_mtu(struct mgds_hca_change *change)
{
    change->mtu = 2048;
}

static void wrong_connections_are_found(void **state)
{
    static const struct wrong rows[] = {
        {wrong_lid, 0x15, MGDS_STATE_RTS}, {wrong_gid, 0x15, MGDS_STATE_RTS},
        {wrong_qpn, 0x15, MGDS_STATE_RTS}, {wrong_pkey, 0x15, MGDS_STATE_RTS},
        {early_psn, 0x12, MGDS_STATE_ERR}, {late_psn, 0x15, MGDS_STATE_RTS},
        {wrong_mtu, 0x12, MGDS_STATE_ERR},
    };
    struct options options = {.packets = true, .unconnected = true, .mtu = 256};
    struct mgds_hca_change change;
    struct place place;
    struct wqe wqe;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        place_open(&place, &options);
        place_connect(&place.b, place.b.qp, PLACE_QPN_A);
        change = place_change(&place.a, PLACE_QPN_B);
        rows[i].make(&change);
        place_connect_as(place.a.qp, change);
        wqe = wqe_write(&place.a, 0, 4096);
        run_one(&place.a, &wqe);
        expect_error(&place.a.sends, rows[i].syndrome, 0);
        assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
        assert_int_equal(place.b.qp->state, rows[i].b);
        assert_int_equal(place.b.memory[0], (uint8_t)~0);
        place_close(&place);
    }
}

/* A limited member of the partition speaks to a full one; two do not. */
static void limited_members_hear_full_ones(void **state)
{
    static const struct {
        uint16_t a, b;
        bool hears;
    } rows[] = {{0x7fff, 0xffff, true}, {0x7fff, 0x7fff, false}};
    struct options options = {.packets = true, .unconnected = true};
    struct mgds_hca_change change;
    struct place place;
    struct wqe wqe;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        place_open(&place, &options);
        change = place_change(&place.b, PLACE_QPN_A);
        change.pkey = rows[i].b;
        place_connect_as(place.b.qp, change);
        change = place_change(&place.a, PLACE_QPN_B);
        change.pkey = rows[i].a;
        place_connect_as(place.a.qp, change);
        wqe = wqe_write(&place.a, 0, 8);
        run_one(&place.a, &wqe);
        if (rows[i].hears)
            expect_cqe(&place.a.sends, 0, 0);
        else
            expect_error(&place.a.sends, 0x15, 0);
        place_close(&place);
    }
}

static void a_device_reaches_itself(void **state)
{
    struct options options = {.packets = true, .unconnected = true};
    struct mgds_hca_change change;
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    change = place_change(&place.a, PLACE_QPN_A);
    change.address = place_of(&place.a);
    place_connect_as(place.a.qp, change);
    wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
    wqe_raddr(&wqe, place_address(&place.a, 8192), place.a.key);
    wqe_data(&wqe, 5000, place.a.key, place_address(&place.a, 0));
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    assert_memory_equal(place.a.memory + 8192, place.a.memory, 5000);
    place_close(&place);
}

/* A QP of b; of DC a DCI, a DCT or a connection of that. */
static const struct mgds_hca_qp *draw_target(const struct place *place,
                                             uint64_t *seed)
{
    const struct mgds_hca_qp *dct = place->b.dct;
    uint32_t kind = dct ? draw_below(seed, 3) : 0;

    if (kind == 0)
        return place->b.qp;
    return kind == 1 && dct->dc.connections ? dct->dc.connections : dct;
}

static void send_noise(struct place *place, uint64_t *seed)
{
    const struct mgds_hca_qp *target = draw_target(place, seed);
    struct mgds_hca_fabric *fabric = place->a.port->fabric;
    struct mgds_hca_packet packet;
    struct mgds_hca_list payload;
    uint64_t bytes = draw_below(seed, 3) ? draw_below(seed, 4096) : 0;

    for (size_t i = 0; i < sizeof(packet); i++)
        ((uint8_t *)&packet)[i] = (uint8_t)draw(seed);
    packet.opcode = (uint8_t)draw_below(seed, 0x20);
    packet.opcode |= mgds_hca_packet_service(place->options.service);
    packet.from = draw_below(seed, 20) ? fabric->lid : packet.from;
    packet.pkey = draw_below(seed, 20) ? 0xffff : packet.pkey;
    packet.qpn = draw_below(seed, 20) ? target->number : packet.qpn;
    packet.psn = (target->receive.psn + draw_below(seed, 40)) & 0xffffff;
    packet.bytes = (uint16_t)(draw_below(seed, 20) ? bytes : draw(seed));
    packet.length = draw_below(seed, 2) ? (uint32_t)bytes : packet.length;
    packet.rkey = draw_below(seed, 8) ? place->b.key : packet.rkey;
    packet.address = place_address(&place->b, draw_below(seed, 70000));
    if (place->b.dct && draw_below(seed, 2))
        packet.address = PLACE_DC_KEY; /* of a call */
    mgds_hca_list_one(&payload, place->a.memory, bytes);
    mgds_hca_fabric_send(fabric, mgds_hca_port_lid(place->b.port), &packet,
                         &payload);
}

static void make_noise(enum mgds_hca_service service)
{
    struct options options = {.packets = true, .mtu = 1024, .service = service};
    struct place place;
    struct mgds_hca_address there;
    uint64_t seed = 11;

    place_open(&place, &options);
    /* UD looks for its peer with each datagram: here nobody else does. */
    there = place_of(&place.b);
    assert_true(mgds_hca_fabric_find(place.a.port->fabric, &there) != 0);
    for (unsigned i = 0; i < mgds_test_laps(NOISE); i++) {
        send_noise(&place, &seed);
        mgds_hca_run(place.b.hca);
        mgds_hca_run(place.a.hca);
        if (place.b.qp->state == MGDS_STATE_ERR) {
            place.events = 0;
            place_revive(&place.b, PLACE_QPN_A);
        }
    }
    assert_true(place.b.port->received > 0);
    place_close(&place);
}

static void noise_does_no_harm(void **state)
{
    (void)state;
    for (int service = 0; service < MGDS_SERVICE_DCT; service++)
        make_noise((enum mgds_hca_service)service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_messages_arrive),
        cmocka_unit_test(who_does_not_answer_exceeds_retries),
        cmocka_unit_test(an_answer_that_is_there_counts),
        cmocka_unit_test(a_device_that_died_is_not_waited_for),
        cmocka_unit_test(a_peer_without_receives_ends_in_rnr),
        cmocka_unit_test(receives_may_come_late),
        cmocka_unit_test(errors_of_the_peer_come_back),
        cmocka_unit_test(wrong_connections_are_found),
        cmocka_unit_test(limited_members_hear_full_ones),
        cmocka_unit_test(a_device_reaches_itself),
        cmocka_unit_test(noise_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
