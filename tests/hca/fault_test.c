/* Each fault, and what a program finds of it: CQE, event and state. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/hca/wire/control.h"
#include "tests/hca/place.h"

enum { MESSAGES = 100, FLAG_AT = 8192 };

static uint64_t count_of(const struct end *end, enum mgds_hca_wire_fault fault)
{
    return end->port->outlet.faults.count[fault];
}

static void faults_are_parsed(void **state)
{
    static const char *const bad[] = {
        "drop",    "drop=101%", "lost=1%", "drop=1%,",
        "late=5",  "seed=0",    "drop=%",  "drop=60%,delay=60%",
        "place=1", "link=2",    "overrun", "rnr=5"};
    struct mgds_hca_faults faults;
    const char *wrong;

    (void)state;
    assert_int_equal(
        mgds_hca_faults_parse(&faults, "drop=0.5%,late=2ms,die=9", &wrong), 0);
    assert_int_equal(faults.rate[MGDS_WIRE_FAULT_DROP], 5000);
    assert_int_equal(faults.late, 2000000);
    assert_int_equal(faults.die, 9);
    assert_false(faults.cut);
    assert_int_equal(mgds_hca_faults_parse(
                         &faults, "rnr=3%,place=7us,overrun=8,link=0", &wrong),
                     0);
    assert_int_equal(faults.rate[MGDS_WIRE_FAULT_NOT_READY], 30000);
    assert_int_equal(faults.place, 7000);
    assert_int_equal(faults.overrun, 8);
    assert_true(faults.cut);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mgds_hca_faults_parse(&faults, bad[i], &wrong),
                         -EINVAL);
}

/* WRITEs of three packets, one after the other, into a place of their own. */
static void write_many(struct place *place, unsigned count)
{
    struct wqe wqe;

    for (unsigned i = 0; i < count; i++) {
        wqe = wqe_write(&place->a, i * (size_t)600, 600);
        run_one(&place->a, &wqe);
        expect_cqe(&place->a.sends, 0, (uint16_t)i);
    }
    assert_memory_equal(place->b.memory, place->a.memory, count * (size_t)600);
}

static void what_happens_on_the_way_is_repaired(void **state)
{
    static const struct {
        const char *text;
        enum mgds_hca_wire_fault fault;
    } rows[] = {{"drop=10%", MGDS_WIRE_FAULT_DROP},
                {"duplicate=10%", MGDS_WIRE_FAULT_DUPLICATE},
                {"reorder=10%", MGDS_WIRE_FAULT_REORDER},
                {"delay=10%,late=50us", MGDS_WIRE_FAULT_DELAY}};
    struct options options = {.packets = true, .mtu = 256};
    struct place place;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        options.faults = rows[i].text;
        place_open(&place, &options);
        write_many(&place, MESSAGES);
        assert_true(count_of(&place.a, rows[i].fault) > 0);
        assert_true(count_of(&place.b, rows[i].fault) > 0);
        assert_int_equal(place.events, 0);
        place_close(&place);
    }
}

/* The time that it took, which faults make longer. */
static uint64_t run_seed(const char *faults)
{
    struct options options = {.packets = true, .mtu = 256, .faults = faults};
    struct place place;
    uint64_t clock;

    place_open(&place, &options);
    write_many(&place, MESSAGES);
    clock = place.clock;
    place_close(&place);
    return clock;
}

static void a_seed_repeats_a_run(void **state)
{
    uint64_t first = run_seed("drop=10%,delay=10%,seed=5");

    (void)state;
    assert_int_equal(run_seed("drop=10%,delay=10%,seed=5"), first);
    assert_int_not_equal(run_seed("drop=10%,delay=10%,seed=6"), first);
}

static void send_ready(struct place *place)
{
    struct wqe wqe = wqe_send(&place->a, 0, 600);

    post_receive(&place->b, 30000, 600);
    run_one(&place->a, &wqe);
}

static void a_storm_of_rnr_passes(void **state)
{
    struct options options = {.packets = true, .mtu = 256, .faults = "rnr=60%"};
    struct place place;

    (void)state;
    place_open(&place, &options);
    for (uint16_t i = 0; i < 20; i++) {
        send_ready(&place);
        expect_cqe(&place.a.sends, 0, i);
        expect_cqe(&place.b.receives, 2, i);
    }
    assert_true(count_of(&place.b, MGDS_WIRE_FAULT_NOT_READY) > 0);
    assert_true(place.clock > PLACE_DELAY);
    place_close(&place);
}

static void a_storm_of_rnr_may_be_too_long(void **state)
{
    struct options options = {
        .packets = true, .rnr_retry = 2, .faults = "rnr=100%"};
    struct place place;

    (void)state;
    place_open(&place, &options);
    send_ready(&place);
    expect_error(&place.a.sends, 0x16, 0);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.b.qp->state, MGDS_STATE_RTS);
    expect_none(&place.b.receives);
    assert_int_equal(count_of(&place.b, MGDS_WIRE_FAULT_NOT_READY), 3);
    place_close(&place);
}

static void a_wrong_key_is_an_access_error(void **state)
{
    struct options options = {.packets = true, .faults = "key=100%"};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    wqe = wqe_read(&place.a, 0, 64);
    run_one(&place.a, &wqe);
    assert_int_equal(expect_error(&place.a.sends, 0x13, 0).vendor, 0x88);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.b.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.events, 1);
    assert_int_equal(place.event[0], MGDS_EVENT_QP_ACCESS_ERR);
    assert_int_equal(place.event_number[0], PLACE_QPN_B);
    place_close(&place);
}

static void a_queue_overruns_when_it_is_told_to(void **state)
{
    struct options options = {.packets = true};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place_disturb(&place.a, "overrun=3");
    for (uint16_t i = 0; i < 3; i++) {
        wqe = wqe_write(&place.a, 0, 64);
        run_one(&place.a, &wqe);
        if (i < 2)
            expect_cqe(&place.a.sends, 0, i);
    }
    expect_none(&place.a.sends);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.events, 2);
    assert_int_equal(place.event[0], MGDS_EVENT_CQ_ERR);
    assert_int_equal(place.event[1], MGDS_EVENT_QP_FATAL);
    place_close(&place);
}

static void a_link_that_stays_cut_ends_retries(void **state)
{
    struct options options = {.packets = true, .retries = 3};
    struct mgds_hca_change reset = {.state = MGDS_STATE_RESET};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place_disturb(&place.b, "link=0");
    assert_false(mgds_hca_port_up(place.b.port));
    assert_int_equal(place.events, 1);
    assert_int_equal(place.event[0], MGDS_EVENT_PORT_ERR);
    assert_int_equal(place.event_number[0], 1);
    wqe = wqe_write(&place.a, 0, 64);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x15, 0);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.b.qp->state, MGDS_STATE_RTS);
    place_disturb(&place.b, "");
    assert_int_equal(place.events, 2);
    assert_int_equal(place.event[1], MGDS_EVENT_PORT_ACTIVE);
    assert_int_equal(mgds_hca_qp_modify(place.a.qp, &reset), 0);
    place_connect(&place.a, place.a.qp, PLACE_QPN_B);
    place.a.pi = 0;
    wqe = wqe_write(&place.a, 0, 64);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

static void a_link_that_comes_back_in_time_is_not_missed(void **state)
{
    struct options options = {.packets = true};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    place_disturb(&place.a, "link=0");
    wqe = wqe_write(&place.a, 0, 64);
    post(&place.a, &wqe);
    ring(&place.a);
    mgds_hca_run(place.a.hca);
    mgds_hca_run(place.b.hca);
    expect_none(&place.a.sends);
    place_disturb(&place.a, "link=1");
    place_run(&place);
    expect_cqe(&place.a.sends, 0, 0);
    assert_memory_equal(place.b.memory, place.a.memory, 64);
    place_close(&place);
}

/* A long WRITE and one of a flag behind it, or another flag. */
static void post_flagged(struct place *place, struct wqe *flag)
{
    struct wqe data = wqe_write(&place->a, 0, 1000);

    data.at[11] = 0;
    memset(place->b.memory, 0, 1000);
    memset(place->b.memory + FLAG_AT, 0, 8);
    post(&place->a, &data);
    flag->at[1] = (uint8_t)(place->a.pi >> 8);
    flag->at[2] = (uint8_t)place->a.pi;
    post(&place->a, flag);
    ring(&place->a);
}

static bool is_data_there(const struct place *place)
{
    return memcmp(place->b.memory, place->a.memory, 1000) == 0;
}

/* Looks whenever something is placed: whether the flag was there first. */
static bool runs_ahead(struct place *place)
{
    bool ahead = false;
    uint64_t due;
    struct cqe cqe;

    for (;;) {
        while (mgds_hca_run(place->a.hca) + mgds_hca_run(place->b.hca) > 0)
            ;
        ahead |= memcmp(place->b.memory + FLAG_AT, place->a.memory + FLAG_AT,
                        8) == 0 &&
                 !is_data_there(place);
        if (take_cqe(&place->a.sends, &cqe))
            break;
        due = mgds_hca_port_due(place->b.port);
        assert_true(due > place->clock);
        place->clock = due;
    }
    assert_int_equal(cqe.opcode, 0);
    assert_true(is_data_there(place));
    return ahead;
}

static unsigned count_ahead(const struct options *options, uint8_t opcode)
{
    unsigned ahead = 0;
    struct place place;
    struct wqe flag;

    place_open(&place, options);
    for (int i = 0; i < 50; i++) {
        flag = wqe_write(&place.a, FLAG_AT, 8);
        if (opcode == 0x12) {
            flag = wqe_ctrl(&place.a, 0x12, SIGNALLED);
            wqe_raddr(&flag, place_address(&place.b, FLAG_AT), place.b.key);
            wqe_atomic(&flag, 0, 0);
            memcpy(flag.at + 32, "\0\0\0\0\0\0\0\1", 8);
            wqe_data(&flag, 8, place.a.key, place_address(&place.a, 20000));
            memcpy(place.a.memory + FLAG_AT, "\1\0\0\0\0\0\0\0", 8);
        }
        post_flagged(&place, &flag);
        ahead += runs_ahead(&place);
    }
    place_close(&place);
    return ahead;
}

/* As the fault says, or as the QP allows; a flag that is an atomic is right,
 * and so are flags on QPs that do not allow it. */
static void a_flag_may_run_ahead_of_its_data(void **state)
{
    struct options ordered = {.packets = true, .mtu = 256};
    struct options fault = ordered, allowed = ordered;

    (void)state;
    fault.faults = "place=50us";
    allowed.out_of_order = true;
    assert_int_equal(count_ahead(&ordered, 0x08), 0);
    assert_true(count_ahead(&fault, 0x08) > 10);
    assert_true(count_ahead(&allowed, 0x08) > 10);
    assert_int_equal(count_ahead(&fault, 0x12), 0);
}

/* The CQE of a receive comes behind the data. */
static void an_immediate_does_not_run_ahead(void **state)
{
    struct options options = {.packets = true, .faults = "place=1ms"};
    struct place place;
    struct wqe data, imm;

    (void)state;
    place_open(&place, &options);
    post_receive(&place.b, 0, 16);
    data = wqe_write(&place.a, 0, 1000);
    post(&place.a, &data);
    imm = wqe_write(&place.a, FLAG_AT, 8);
    imm.at[3] = 0x09;
    post(&place.a, &imm);
    ring(&place.a);
    mgds_hca_run(place.a.hca);
    mgds_hca_run(place.b.hca);
    expect_cqe(&place.b.receives, 1, 0);
    assert_true(is_data_there(&place));
    place_close(&place);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int poll_later(struct place *place, struct mgds_hca_control *control)
{
    const char *wrong;
    int rc;

    place->clock += 20000000;
    rc = mgds_hca_control_poll(control, place->a.port, &wrong);
    if (rc == -EINVAL)
        assert_string_equal(wrong, "drip=1%");
    return rc;
}

static void a_file_says_which_faults(void **state)
{
    struct options options = {.packets = true};
    struct mgds_hca_control control = {.path = "hca-faults"};
    struct place place;

    (void)state;
    place_open(&place, &options);
    unlink(control.path);
    assert_int_equal(poll_later(&place, &control), 0);
    write_file(control.path, "drop=1%\n");
    assert_int_equal(poll_later(&place, &control), 1);
    assert_int_equal(place.a.port->outlet.faults.rate[MGDS_WIRE_FAULT_DROP],
                     10000);
    assert_int_equal(poll_later(&place, &control), 0);
    write_file(control.path, "key=1%,drip=1%");
    assert_int_equal(poll_later(&place, &control), -EINVAL);
    assert_int_equal(place.a.port->outlet.faults.rate[MGDS_WIRE_FAULT_KEY], 0);
    assert_int_equal(unlink(control.path), 0);
    assert_int_equal(poll_later(&place, &control), 1);
    assert_int_equal(place.a.port->outlet.faults.rate[MGDS_WIRE_FAULT_DROP], 0);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_parsed),
        cmocka_unit_test(what_happens_on_the_way_is_repaired),
        cmocka_unit_test(a_seed_repeats_a_run),
        cmocka_unit_test(a_storm_of_rnr_passes),
        cmocka_unit_test(a_storm_of_rnr_may_be_too_long),
        cmocka_unit_test(a_wrong_key_is_an_access_error),
        cmocka_unit_test(a_queue_overruns_when_it_is_told_to),
        cmocka_unit_test(a_link_that_stays_cut_ends_retries),
        cmocka_unit_test(a_link_that_comes_back_in_time_is_not_missed),
        cmocka_unit_test(a_flag_may_run_ahead_of_its_data),
        cmocka_unit_test(an_immediate_does_not_run_ahead),
        cmocka_unit_test(a_file_says_which_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
