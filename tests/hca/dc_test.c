/* Dynamic connections: DCIs call DCTs, one after the other, and what goes wrong
 * with one does not concern another. */
#include <string.h>

#include "sim/hca/dct.h"
#include "sim/hca/receive.h"
#include "tests/hca/place.h"

enum { AT = 20000 };

static void open_dc(struct place *place, struct options options)
{
    options.service = MGDS_SERVICE_DCI;
    place_open(place, &options);
}

/* Both wires, and both address vectors. */
static const struct options ways[] = {
    {.half = false},
    {.half = true},
    {.packets = true, .mtu = 256},
    {.packets = true, .mtu = 256, .half = true},
    {.packets = true, .gids = true},
    {.packets = true, .gids = true, .ethernet = true},
    {.packets = true, .hosts = true},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void a_send_names_dct_and_dci(void **state)
{
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        open_dc(&place, ways[i]);
        post_receive(&place.b, AT, 4000);
        wqe = wqe_send(&place.a, 0, 3000);
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, 0);
        cqe = expect_cqe(&place.b.receives, 2, 0);
        assert_int_equal(cqe.qpn, place.b.dct->number);
        assert_int_equal(cqe.user_index, PLACE_UIDX);
        assert_int_equal(cqe.peer, place.a.number);
        assert_int_equal(cqe.bytes, 3000);
        assert_memory_equal(place.b.memory + AT, place.a.memory, 3000);
        assert_int_equal(place.events, 0);
        place_close(&place);
    }
}

/* A WRITE of these bytes to the same place at an end, by a DCT there. */
static void post_write(struct place *place, const struct end *to,
                       const struct mgds_hca_qp *dct, size_t offset,
                       uint32_t bytes)
{
    struct end *a = &place->a;
    struct wqe wqe = wqe_dc_ctrl(a, 0x08, to, dct->number);

    wqe_raddr(&wqe, place_address(to, AT + offset), to->key);
    wqe_data(&wqe, bytes, a->key, place_address(a, offset));
    post(a, &wqe);
}

/* Posted at once, to three targets in turn: of two devices, one its own. */
static void a_dci_switches_targets_in_order(void **state)
{
    enum { EACH = 1000, COUNT = 7 };
    const struct mgds_hca_qp *dct[3];
    struct mgds_hca_qp *other;
    struct place place;
    unsigned index;

    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        struct options options = ways[i];

        options.blocks = 32;
        open_dc(&place, options);
        other = place_dct(&place.b, PLACE_DC_KEY);
        dct[0] = place.b.dct;
        dct[1] = other;
        dct[2] = place.a.dct;
        for (unsigned n = 0; n < COUNT; n++)
            post_write(&place, n % 3 == 2 ? &place.a : &place.b, dct[n % 3],
                       (size_t)n * EACH, EACH);
        ring(&place.a);
        place_run(&place);
        for (unsigned n = 0; n < COUNT; n++) {
            const struct end *to = n % 3 == 2 ? &place.a : &place.b;

            index = n * (options.half ? 1 : 2);
            expect_cqe(&place.a.sends, 0, (uint16_t)index);
            assert_memory_equal(to->memory + AT + (size_t)n * EACH,
                                place.a.memory + (size_t)n * EACH, EACH);
        }
        mgds_hca_qp_detach(other);
        place_close(&place);
    }
}

static void write_once(struct place *place)
{
    struct end *a = &place->a;
    uint16_t index = a->pi;
    struct wqe wqe = wqe_write(a, 0, 2000);

    run_one(a, &wqe);
    expect_cqe(&a->sends, 0, index);
    assert_memory_equal(place->b.memory, a->memory, 2000);
    fill_memory(place);
}

/* A WQE of a's is refused, and b's DCT hears nothing of it. */
static void expect_refusal(struct place *place, struct wqe *wqe)
{
    uint16_t index = place->a.pi;

    run_one(&place->a, wqe);
    expect_error(&place->a.sends, 0x13, index);
    assert_int_equal(place->a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place->b.dct->state, MGDS_STATE_RTR);
    assert_int_equal(place->events, 0);
}

static void a_wrong_key_is_refused(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        open_dc(&place, ways[i]);
        wqe = wqe_write(&place.a, 0, 8);
        wqe.at[16 + 7] ^= 1;
        expect_refusal(&place, &wqe);
        assert_int_equal(place.b.dct->dc.count, 0);
        place_revive(&place.a, 0);
        write_once(&place);
        place_close(&place);
    }
}

/* The DCT stays, and its other callers do not notice. */
static void an_error_ends_one_connection(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        open_dc(&place, ways[i]);
        write_once(&place);
        wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
        wqe_raddr(&wqe, place_address(&place.b, 0), 0x77700);
        wqe_data(&wqe, 8, place.a.key, place_address(&place.a, 0));
        expect_refusal(&place, &wqe);
        place_revive(&place.a, 0);
        write_once(&place);
        place_close(&place);
    }
}

static void a_dct_without_receives_is_called_again(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    open_dc(&place, (struct options){.rnr_retry = 1});
    wqe = wqe_send(&place.a, 0, 100);
    run_one(&place.a, &wqe);
    expect_none(&place.a.sends);
    post_receive(&place.b, AT, 100);
    place.clock += PLACE_DELAY;
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.b.receives, 2, 0);
    place_close(&place);

    open_dc(&place, (struct options){.packets = true, .rnr_retry = 1});
    wqe = wqe_send(&place.a, 0, 100);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x16, 0);
    place_close(&place);
}

static void nobody_answers_a_wrong_target(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        struct options options = ways[i];

        options.retries = 1;
        open_dc(&place, options);
        wqe = wqe_write(&place.a, 0, 8);
        wqe.at[16 + 11] ^= 0x80; /* no QP */
        run_one(&place.a, &wqe);
        expect_error(&place.a.sends, 0x15, 0);
        place_revive(&place.a, 0);
        wqe = wqe_write(&place.a, 0, 8);
        wqe.at[16 + 10] = (uint8_t)(place.b.number >> 8);
        wqe.at[16 + 11] = (uint8_t)place.b.number; /* a DCI */
        run_one(&place.a, &wqe);
        expect_error(&place.a.sends, 0x15, 0);
        place_close(&place);
    }
}

/* A DCT that has left RTR does not answer either; its connections are gone. */
static void a_dct_in_error_has_no_connections(void **state)
{
    struct mgds_hca_change error = {.state = MGDS_STATE_ERR};
    struct place place;
    struct wqe wqe;

    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        struct options options = ways[i];

        options.retries = 1;
        open_dc(&place, options);
        write_once(&place);
        assert_int_equal(place.b.dct->dc.count, 1);
        assert_int_equal(mgds_hca_qp_modify(place.b.dct, &error), 0);
        assert_int_equal(place.b.dct->dc.count, 0);
        wqe = wqe_write(&place.a, 0, 8);
        run_one(&place.a, &wqe);
        assert_int_equal(
            expect_error(&place.a.sends, 0x15, ways[i].half ? 1 : 2).opcode,
            13);
        place_close(&place);
    }
}

static void a_dct_has_states_of_its_own(void **state)
{
    struct mgds_hca_change change = {.state = MGDS_STATE_RTS, .reads = 1};
    struct mgds_hca_qp_attr attr;
    struct mgds_hca_qp *dct;
    struct place place;

    (void)state;
    open_dc(&place, ways[0]);
    assert_int_equal(mgds_hca_qp_modify(place.b.dct, &change), -22);
    attr = place.b.dct->attr;
    attr.srq = NULL;
    assert_int_equal(mgds_hca_qp_attach(place.b.hca, &attr, &dct), -22);
    attr = place.b.dct->attr;
    attr.send_blocks = 16;
    assert_int_equal(mgds_hca_qp_attach(place.b.hca, &attr, &dct), -22);
    place_close(&place);
}

static struct mgds_hca_qp *call(struct mgds_hca_qp *dct, uint32_t from,
                                uint64_t epoch)
{
    struct mgds_hca_call call = {
        .lid = 9, .from = from, .key = PLACE_DC_KEY, .epoch = epoch};
    struct mgds_hca_qp *connection;

    assert_int_equal(mgds_hca_dct_accept(dct, &call, &connection),
                     MGDS_CAUSE_NONE);
    return connection;
}

/* A call's copies get what it got; what is older gets nothing. */
static void late_calls_change_nothing(void **state)
{
    struct mgds_hca_qp *first, *second;
    struct place place;
    uint32_t number;

    (void)state;
    open_dc(&place, ways[0]);
    first = call(place.b.dct, 77, 5);
    number = first->number;
    assert_ptr_equal(call(place.b.dct, 77, 5), first);
    second = call(place.b.dct, 77, 6);
    assert_int_not_equal(second->number, number);
    assert_null(call(place.b.dct, 77, 5));
    assert_ptr_equal(call(place.b.dct, 77, 6), second);
    assert_int_equal(place.b.dct->dc.count, 1);
    place_close(&place);
}

static void the_oldest_of_too_many_goes(void **state)
{
    struct place place;

    (void)state;
    open_dc(&place, ways[0]);
    for (uint32_t i = 0; i < MGDS_HCA_CONNECTIONS; i++)
        assert_non_null(call(place.b.dct, 1 + i, 5));
    assert_non_null(mgds_hca_dct_find(place.b.dct, 9, 1));
    assert_non_null(call(place.b.dct, 1 + MGDS_HCA_CONNECTIONS, 5));
    assert_null(mgds_hca_dct_find(place.b.dct, 9, 1));
    assert_non_null(mgds_hca_dct_find(place.b.dct, 9, 2));
    assert_int_equal(place.b.dct->dc.count, MGDS_HCA_CONNECTIONS);
    place_close(&place);
}

/* A message that has lost its sender. */
static void a_receive_goes_with_its_connection(void **state)
{
    struct mgds_hca_qp *connection;
    struct place place;
    struct cqe cqe;

    (void)state;
    open_dc(&place, ways[0]);
    post_receive(&place.b, AT, 100);
    connection = call(place.b.dct, 77, 5);
    assert_true(mgds_hca_receive_take(connection));
    mgds_hca_dct_hang_up(connection);
    cqe = expect_error(&place.b.receives, 0x05, 0);
    assert_int_equal(cqe.qpn, place.b.dct->number);
    place_close(&place);
}

/* A DCI hangs up when it calls another one, or ends. */
static void connections_end_with_their_caller(void **state)
{
    struct mgds_hca_change reset = {.state = MGDS_STATE_RESET};
    struct place place;

    (void)state;
    open_dc(&place, ways[2]);
    write_once(&place);
    assert_int_equal(place.b.dct->dc.count, 1);
    post_write(&place, &place.a, place.a.dct, 0, 8);
    ring(&place.a);
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 2);
    assert_int_equal(place.b.dct->dc.count, 0);
    assert_int_equal(place.a.dct->dc.count, 1);
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &reset), 0);
    place_run(&place);
    assert_int_equal(place.a.dct->dc.count, 0);
    place_close(&place);
}

/* Calls and their answers, too, may be lost or late: time alone is. */
static void faults_make_calls_late(void **state)
{
    static const char *const faults[] = {"drop=20%,seed=3",
                                         "duplicate=50%,reorder=20%,seed=4",
                                         "delay=40%,late=3ms,seed=5"};
    struct place place;
    uint16_t index;

    (void)state;
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        open_dc(&place, (struct options){
                            .packets = true, .mtu = 512, .faults = faults[i]});
        for (unsigned n = 0; n < 200; n++) {
            const struct end *to = n % 2 ? &place.a : &place.b;

            index = place.a.pi;
            post_write(&place, to, to->dct, 0, 2000);
            ring(&place.a);
            place_run(&place);
            expect_cqe(&place.a.sends, 0, index);
            assert_memory_equal(to->memory + AT, place.a.memory, 2000);
            memset(to->memory + AT, 0, 2000);
        }
        place_close(&place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_send_names_dct_and_dci),
        cmocka_unit_test(a_dci_switches_targets_in_order),
        cmocka_unit_test(a_wrong_key_is_refused),
        cmocka_unit_test(an_error_ends_one_connection),
        cmocka_unit_test(a_dct_without_receives_is_called_again),
        cmocka_unit_test(nobody_answers_a_wrong_target),
        cmocka_unit_test(a_dct_in_error_has_no_connections),
        cmocka_unit_test(a_dct_has_states_of_its_own),
        cmocka_unit_test(late_calls_change_nothing),
        cmocka_unit_test(the_oldest_of_too_many_goes),
        cmocka_unit_test(a_receive_goes_with_its_connection),
        cmocka_unit_test(connections_end_with_their_caller),
        cmocka_unit_test(faults_make_calls_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
