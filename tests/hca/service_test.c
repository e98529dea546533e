/* Services beside the reliable connection: what is lost stays lost, and the
 * requester does not hear of it. */
#include <string.h>

#include "tests/hca/place.h"

enum { GRH = 40 };

static void uc_messages_arrive(void **state)
{
    struct options options = {
        .packets = true, .mtu = 256, .service = MGDS_SERVICE_UC};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_write(&place.a, 0, 10000);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    assert_memory_equal(place.b.memory, place.a.memory, 10000);
    post_receive(&place.b, 20000, 2000);
    wqe = wqe_send(&place.a, 300, 2000);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 1);
    assert_int_equal(expect_cqe(&place.b.receives, 2, 0).bytes, 2000);
    assert_memory_equal(place.b.memory + 20000, place.a.memory + 300, 2000);
    post_receive(&place.b, 0, 16);
    wqe = wqe_write(&place.a, 30000, 600);
    wqe.at[3] = 0x09;
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 2);
    assert_int_equal(expect_cqe(&place.b.receives, 1, 1).bytes, 600);
    place_close(&place);
}

/* Each message of four packets is whole, or has no CQE at the other side; the
 * receive of one that was lost has the next one. */
static void uc_loses_whole_messages(void **state)
{
    struct options options = {.packets = true,
                              .mtu = 256,
                              .service = MGDS_SERVICE_UC,
                              .faults = "drop=10%,seed=3"};
    unsigned sent = 0, arrived = 0;
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, &options);
    post_receive(&place.b, 20000, 1024);
    for (; sent < 200; sent++) {
        wqe = wqe_send(&place.a, sent, 1024);
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, (uint16_t)sent);
        if (!take_cqe(&place.b.receives, &cqe))
            continue;
        assert_int_equal(cqe.bytes, 1024);
        assert_memory_equal(place.b.memory + 20000, place.a.memory + sent,
                            1024);
        post_receive(&place.b, 20000, 1024);
        arrived++;
    }
    assert_true(arrived > 50 && arrived < 180);
    assert_int_equal(place.events, 0);
    place_close(&place);
}

/* A receive whose two elements are the same memory: it has the second half of
 * the message alone. */
static void post_folded_receive(struct end *end, size_t skip, uint32_t half)
{
    uint64_t at = place_address(end, 20000);
    struct wqe wqe = {.bytes = 0};

    if (skip)
        wqe_data(&wqe, (uint32_t)skip, end->key, at);
    wqe_data(&wqe, half, end->key, at);
    wqe_data(&wqe, half, end->key, at);
    wqe_data(&wqe, 0, 0x100, 0);
    post_receive_bytes(end, wqe.at, wqe.bytes);
}

/* Lost messages do not count, and what is in memory in another way than it was
 * sent does. */
static void uc_messages_are_compared(void **state)
{
    struct options options = {.packets = true,
                              .mtu = 256,
                              .service = MGDS_SERVICE_UC,
                              .faults = "drop=10%,seed=3"};
    struct mgds_hca_digest digest = {.differ = 0};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place.a.hca->config.digest = place.b.hca->config.digest = &digest;
    for (size_t i = 0; i < 100; i++) {
        wqe = wqe_write(&place.a, i, 1000);
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, (uint16_t)i);
    }
    assert_true(digest.arrived > 25 && digest.arrived < 90);
    assert_int_equal(digest.differ, 0);
    digest.arrived = 0;
    place_disturb(&place.a, "");
    place_disturb(&place.b, "");
    post_folded_receive(&place.b, 0, 100);
    wqe = wqe_send(&place.a, 0, 200);
    run_one(&place.a, &wqe);
    expect_cqe(&place.b.receives, 2, 0);
    assert_int_equal(digest.arrived, 1);
    assert_int_equal(digest.differ, 1);
    place_close(&place);
}

/* Parts of messages that are placed in any order are in none that could be
 * compared, and no message differs. */
static void uc_out_of_order_does_not_differ(void **state)
{
    struct options options = {.packets = true,
                              .mtu = 256,
                              .service = MGDS_SERVICE_UC,
                              .faults = "place=50us,seed=3"};
    struct mgds_hca_digest digest = {.differ = 0};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place.a.hca->config.digest = place.b.hca->config.digest = &digest;
    for (size_t i = 0; i < 50; i++) {
        post_receive(&place.b, 0, 16);
        for (size_t at = 0; at < 6144; at += 512) {
            wqe = wqe_write(&place.a, 4096 * i / 10 + at, 512);
            if (at == 5632) {
                wqe = wqe_write(&place.a, 4096 * i / 10 + at, 768);
                wqe.at[3] = 0x09;
            }
            post(&place.a, &wqe);
        }
        ring(&place.a);
        place_run(&place);
        expect_cqe(&place.b.receives, 1, (uint16_t)i);
        for (uint16_t n = 0; n < 12; n++)
            expect_cqe(&place.a.sends, 0, (uint16_t)(12 * i + n));
    }
    assert_int_equal(digest.placed.bytes, 50 * 6400);
    assert_int_equal(digest.differ, 0);
    place_close(&place);
}

static void uc_without_a_receive_is_dropped(void **state)
{
    struct options options = {.packets = true, .service = MGDS_SERVICE_UC};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_send(&place.a, 0, 64);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    post_receive(&place.b, 20000, 64);
    expect_none(&place.b.receives);
    wqe = wqe_send(&place.a, 100, 64);
    run_one(&place.a, &wqe);
    expect_cqe(&place.b.receives, 2, 0);
    assert_memory_equal(place.b.memory + 20000, place.a.memory + 100, 64);
    place_close(&place);
}

/* As rxe does it: the responder's QP ends, and the requester goes on. */
static void uc_with_a_wrong_key_ends_the_responder(void **state)
{
    struct options options = {.packets = true, .service = MGDS_SERVICE_UC};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_write(&place.a, 0, 64);
    wqe.at[27] ^= 0x80;
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    assert_int_equal(place.a.qp->state, MGDS_STATE_RTS);
    assert_int_equal(place.b.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.event[0], MGDS_EVENT_QP_ACCESS_ERR);
    place_close(&place);
}

static void an_operation_of_another_service_is_refused(void **state)
{
    static const struct {
        enum mgds_hca_service service;
        uint8_t opcode;
    } rows[] = {{MGDS_SERVICE_UC, 0x10}, {MGDS_SERVICE_UC, 0x12},
                {MGDS_SERVICE_UC, 0x15}, {MGDS_SERVICE_UD, 0x08},
                {MGDS_SERVICE_UD, 0x10}, {MGDS_SERVICE_UD, 0x11}};
    struct options options = {.packets = true};
    struct place place;
    struct wqe wqe;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        options.service = rows[i].service;
        place_open(&place, &options);
        wqe = wqe_read(&place.a, 0, 8);
        wqe.at[3] = rows[i].opcode;
        run_one(&place.a, &wqe);
        expect_error(&place.a.sends, 0x02, 0);
        place_close(&place);
    }
}

static const struct options datagrams = {.packets = true,
                                         .service = MGDS_SERVICE_UD};

static struct wqe datagram(const struct place *place, uint32_t qkey,
                           bool global, uint32_t bytes)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x0a, SIGNALLED);

    wqe_av(&wqe, &place->b, qkey, global);
    wqe_data(&wqe, bytes, place->a.key, place_address(&place->a, 512));
    return wqe;
}

/* Every byte of the WQE stands here. */
static void ud_has_the_documented_bytes(void **state)
{
    uint8_t golden[] = {
        0,    0,    0,    0x0b, 0,    0x01, 0x23, 5, /* SEND_IMM, DS 5 */
        0,    0,    0,    0x0a, 1,    2,    3,    4, /* signalled, solicited */
        1,    0xee, 0x7a, 0x11, 0,    0,    0,    0, /* Q_Key */
        0x80, 0,    0x04, 0x56, 5,    0,    0,    2, /* full, QPN, SL 5, LID 2
                                                      */
        0,    0,    0,    0,    0,    0,    0,    0, /* no MAC */
        0,    0,    0,    0,    0,    0,    0,    0, /* no GRH */
        0,    0,    0,    0,    0,    0,    0,    0, /* no GID */
        0,    0,    0,    0,    0,    0,    0,    0, 0,
        0,    0,    100,  0,    0,    2,    1,       /* bytes, lkey */
        0,    0,    0,    0,    0x10, 0,    0x02, 0, /* local address */
    };
    uint8_t before[GRH];
    struct place place;
    struct cqe cqe;

    (void)state;
    place_open(&place, &datagrams);
    assert_int_equal(mgds_hca_port_lid(place.b.port), 2);
    post_receive(&place.b, 20000, 140);
    memcpy(before, place.b.memory + 20000, GRH);
    post_bytes(&place.a, golden, sizeof(golden));
    ring(&place.a);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    cqe = expect_cqe(&place.b.receives, 3, 0);
    assert_int_equal(cqe.bytes, 140);
    assert_int_equal(cqe.imm, 0x01020304);
    assert_int_equal(cqe.peer, 5u << 24 | PLACE_QPN_A);
    assert_int_equal(cqe.lid, mgds_hca_port_lid(place.a.port));
    assert_true(cqe.solicited);
    assert_memory_equal(place.b.memory + 20000, before, GRH);
    assert_memory_equal(place.b.memory + 20040, place.a.memory + 512, 100);
    place_close(&place);
}

static void a_grh_says_where_it_came_from(void **state)
{
    static const uint8_t start[] = {0x6a, 0xb1, 0x23, 0x45, 0, 64, 0x1b, 7};
    struct mgds_hca_gid from, to;
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, &datagrams);
    post_receive(&place.b, 20000, 104);
    wqe = datagram(&place, PLACE_QKEY, true, 64);
    run_one(&place.a, &wqe);
    cqe = expect_cqe(&place.b.receives, 2, 0);
    assert_int_equal(cqe.peer, 1u << 28 | 3u << 24 | PLACE_QPN_A);
    assert_memory_equal(place.b.memory + 20000, start, sizeof(start));
    from = place_gid(&place.a);
    to = place_gid(&place.b);
    assert_memory_equal(place.b.memory + 20008, from.raw, 16);
    assert_memory_equal(place.b.memory + 20024, to.raw, 16);
    assert_memory_equal(place.b.memory + 20040, place.a.memory + 512, 64);
    place_close(&place);
}

/* RoCE v2 over IPv4: ::ffff:10.0.0.LID, a second GID of each. */
static struct mgds_hca_gid mapped_gid(const struct end *end)
{
    return (struct mgds_hca_gid){
        {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)mgds_hca_port_lid(end->port)}};
}

static void a_grh_of_ipv4_has_a_checksum(void **state)
{
    struct options options = datagrams;
    struct mgds_hca_gid gid[2];
    struct place place;
    struct wqe wqe;
    struct cqe cqe;
    uint32_t sum = 0;
    const uint8_t *ip;

    (void)state;
    options.ethernet = true;
    place_open(&place, &options);
    gid[0] = mapped_gid(&place.a);
    gid[1] = mapped_gid(&place.b);
    assert_int_equal(mgds_hca_port_add_gid(place.a.port, &gid[0]), 0);
    assert_int_equal(mgds_hca_port_add_gid(place.b.port, &gid[1]), 0);
    post_receive(&place.b, 20000, 104);
    wqe = datagram(&place, PLACE_QKEY, true, 64);
    wqe.at[16 + 14] = 0xc0;    /* a UDP port, no LID */
    wqe.at[16 + 28] = 0;       /* RoCE: a GRH comes without its bit */
    wqe.at[16 + 29] |= 1 << 4; /* our GID 1 */
    memcpy(wqe.at + 16 + 32, gid[1].raw, 16);
    run_one(&place.a, &wqe);
    cqe = expect_cqe(&place.b.receives, 2, 0);
    assert_int_equal(cqe.lid, 0);
    assert_int_equal(cqe.peer >> 24, 0x1a); /* GRH, UDP, IPv4 */
    ip = place.b.memory + 20020;
    assert_int_equal(ip[0], 0x45);
    assert_memory_equal(ip + 12, gid[0].raw + 12, 4);
    assert_memory_equal(ip + 16, gid[1].raw + 12, 4);
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
    assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
    place_close(&place);
}

static void half_a_vector_is_enough_for_a_lid(void **state)
{
    struct place place;
    struct wqe wqe, half;

    (void)state;
    place_open(&place, &datagrams);
    post_receive(&place.b, 20000, 104);
    wqe = datagram(&place, PLACE_QKEY, false, 64);
    half = wqe;
    half.at[24] = 0;
    memcpy(half.at + 32, wqe.at + 64, 16);
    half.bytes -= 32;
    run_one(&place.a, &half);
    expect_cqe(&place.b.receives, 2, 0);
    assert_memory_equal(place.b.memory + 20040, place.a.memory + 512, 64);
    place_close(&place);
}

/* Dropped without a word, and the sender does not know. */
static void datagrams_that_nobody_takes_are_lost(void **state)
{
    struct mgds_hca_change reset = {.state = MGDS_STATE_RESET};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &datagrams);
    wqe = datagram(&place, PLACE_QKEY, false, 64);
    run_one(&place.a, &wqe); /* no receive */
    post_receive(&place.b, 20000, 104);
    wqe = datagram(&place, PLACE_QKEY + 1, false, 64);
    run_one(&place.a, &wqe);
    wqe = datagram(&place, PLACE_QKEY, false, 64);
    wqe.at[16 + 14] = 1; /* LID 258 */
    run_one(&place.a, &wqe);
    wqe = datagram(&place, PLACE_QKEY, true, 64);
    wqe.at[16 + 33] ^= 1; /* GID */
    run_one(&place.a, &wqe);
    wqe = datagram(&place, PLACE_QKEY, false, 64);
    wqe.at[16 + 11]++; /* QPN */
    run_one(&place.a, &wqe);
    for (uint16_t i = 0; i < 5; i++)
        expect_cqe(&place.a.sends, 0, (uint16_t)(2 * i));
    expect_none(&place.b.receives);
    wqe = datagram(&place, 0x80000000u, false, 64); /* the QP's own Q_Key */
    run_one(&place.a, &wqe);
    expect_cqe(&place.b.receives, 2, 0);
    assert_int_equal(mgds_hca_qp_modify(place.b.qp, &reset), 0);
    wqe = datagram(&place, PLACE_QKEY, false, 64);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 10);
    expect_cqe(&place.a.sends, 0, 12);
    assert_int_equal(place.events, 0);
    place_close(&place);
}

static void a_datagram_is_one_packet(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &datagrams);
    post_receive(&place.b, 20000, 4136);
    wqe = datagram(&place, PLACE_QKEY, false, 4096);
    run_one(&place.a, &wqe);
    assert_int_equal(expect_cqe(&place.b.receives, 2, 0).bytes, 4136);
    assert_memory_equal(place.b.memory + 20040, place.a.memory + 512, 4096);
    wqe = datagram(&place, PLACE_QKEY, false, 4097);
    expect_cqe(&place.a.sends, 0, 0);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x01, 2);
    place_close(&place);
}

static void datagrams_are_compared(void **state)
{
    struct options options = {.packets = true, .service = MGDS_SERVICE_UD};
    struct mgds_hca_digest digest = {.differ = 0};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place.a.hca->config.digest = place.b.hca->config.digest = &digest;
    post_receive(&place.b, 20000, 140);
    post_folded_receive(&place.b, GRH, 50);
    for (uint64_t i = 0; i < 2; i++) {
        wqe = datagram(&place, PLACE_QKEY, false, 100);
        run_one(&place.a, &wqe);
        expect_cqe(&place.b.receives, 2, (uint16_t)i);
        assert_int_equal(digest.arrived, i + 1);
        assert_int_equal(digest.differ, i);
    }
    wqe = datagram(&place, PLACE_QKEY, false, 100);
    run_one(&place.a, &wqe); /* no receive */
    assert_int_equal(digest.arrived, 2);
    place_close(&place);
}

static void datagrams_cross_hosts_and_faults(void **state)
{
    struct options options = {.packets = true,
                              .service = MGDS_SERVICE_UD,
                              .hosts = true,
                              .gids = true,
                              .faults = "drop=5%,reorder=5%,duplicate=5%"};
    unsigned arrived = 0, sent = 0;
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, &options);
    for (; sent < 200; sent++) {
        while ((uint16_t)(place.b.posts - place.b.qp->receive.head) < 4)
            post_receive(&place.b, 20000, 140);
        wqe = datagram(&place, PLACE_QKEY, true, 100);
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, (uint16_t)(2 * sent));
        while (take_cqe(&place.b.receives, &cqe))
            arrived++;
        assert_memory_equal(place.b.memory + 20040, place.a.memory + 512, 100);
    }
    assert_true(arrived > 150 && arrived < 250 && arrived != sent);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uc_messages_arrive),
        cmocka_unit_test(uc_loses_whole_messages),
        cmocka_unit_test(uc_messages_are_compared),
        cmocka_unit_test(uc_out_of_order_does_not_differ),
        cmocka_unit_test(uc_without_a_receive_is_dropped),
        cmocka_unit_test(uc_with_a_wrong_key_ends_the_responder),
        cmocka_unit_test(an_operation_of_another_service_is_refused),
        cmocka_unit_test(ud_has_the_documented_bytes),
        cmocka_unit_test(a_grh_says_where_it_came_from),
        cmocka_unit_test(a_grh_of_ipv4_has_a_checksum),
        cmocka_unit_test(half_a_vector_is_enough_for_a_lid),
        cmocka_unit_test(datagrams_that_nobody_takes_are_lost),
        cmocka_unit_test(a_datagram_is_one_packet),
        cmocka_unit_test(datagrams_are_compared),
        cmocka_unit_test(datagrams_cross_hosts_and_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
