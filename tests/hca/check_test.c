/* Each row of syndromes.def, provoked once: the CQEs, states and events that it
 * says. The list of provocations is made from the table: a row without one does
 * not compile. */
#include <stdio.h>
#include <string.h>

#include "tests/hca/place.h"
#include "tests/hca/provoke.h"

enum { REMOTE_WRITE = 3, HALF = PLACE_MEMORY / 2 };

static void send_it(struct place *place, struct wqe *wqe)
{
    run_one(&place->a, wqe);
}

static void provoke_WQE_INDEX(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, 8);

    wqe.at[2] = 1;
    post(&place->a, &wqe);
    place->a.last[2] = 0; /* the doorbell is right */
    ring(&place->a);
    place_run(place);
}

static void provoke_WQE_OPCODE(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, 8);

    wqe.at[3] = 0x0e; /* TSO, not modelled */
    send_it(place, &wqe);
}

static void provoke_WQE_OPMOD(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, 8);

    wqe.at[0] = 1;
    send_it(place, &wqe);
}

static void provoke_WQE_QPN(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, 8);

    wqe.at[6]++;
    post(&place->a, &wqe);
    place->a.last[6]--;
    ring(&place->a);
    place_run(place);
}

static void provoke_WQE_SIZE(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, 8);

    wqe.at[7] = 5; /* two blocks, of which one is rung for */
    post(&place->a, &wqe);
    place->a.last[7] = 3;
    ring(&place->a);
    place_run(place);
}

static void provoke_WQE_FENCE(struct place *place)
{
    struct wqe wqe = wqe_write(&place->a, 0, 8);

    wqe.at[11] |= 5 << 5;
    send_it(place, &wqe);
}

static void provoke_WQE_INLINE(struct place *place)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->b, 0), place->b.key);
    wqe_inline(&wqe, "123456789012", 12);
    wqe.at[32 + 3] = 13; /* one more than there is */
    send_it(place, &wqe);
}

/* A WRITE of 8 bytes whose local memory is that. */
static void write_from(struct place *place, uint32_t lkey, uint64_t address)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->b, 0), place->b.key);
    wqe_data(&wqe, 8, lkey, address);
    send_it(place, &wqe);
}

static void provoke_LOCAL_KEY(struct place *place)
{
    write_from(place, place->a.key ^ 0x80, place_address(&place->a, 0));
}

static void provoke_LOCAL_PD(struct place *place)
{
    write_from(place, place_key(&place->a, 0, HALF, PLACE_PD + 1, 1),
               place_address(&place->a, 0));
}

static void provoke_LOCAL_BOUNDS(struct place *place)
{
    write_from(place, place_key(&place->a, 0, HALF, PLACE_PD, 1),
               place_address(&place->a, HALF - 7));
}

static void provoke_LOCAL_ACCESS(struct place *place)
{
    uint32_t key = place_key(&place->a, 0, HALF, PLACE_PD, 0);
    struct wqe wqe = wqe_ctrl(&place->a, 0x10, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->b, 0), place->b.key);
    wqe_data(&wqe, 8, key, place_address(&place->a, 0));
    send_it(place, &wqe);
}

static void provoke_LENGTH_LIMIT(struct place *place)
{
    /* Claims more memory than there is: it is not read. */
    uint32_t key = place_key(&place->a, 0, UINT64_C(1) << 31, PLACE_PD, 1);
    struct wqe wqe = wqe_ctrl(&place->a, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->b, 0), place->b.key);
    wqe_data(&wqe, (1u << 30) + 1, key, place_address(&place->a, 0));
    send_it(place, &wqe);
}

static struct wqe fetch_add(struct place *place, size_t offset, uint32_t bytes)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x12, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->b, offset), place->b.key);
    wqe_atomic(&wqe, 1, 0);
    wqe_data(&wqe, bytes, place->a.key, place_address(&place->a, 0));
    return wqe;
}

static void provoke_ATOMIC_LENGTH(struct place *place)
{
    struct wqe wqe = fetch_add(place, 0, 4);

    send_it(place, &wqe);
}

/* A WRITE of 8 bytes to that. */
static void write_to(struct place *place, uint32_t rkey, uint64_t address)
{
    struct wqe wqe = wqe_ctrl(&place->a, 0x08, SIGNALLED);

    wqe_raddr(&wqe, address, rkey);
    wqe_data(&wqe, 8, place->a.key, place_address(&place->a, 0));
    send_it(place, &wqe);
}

static void provoke_REMOTE_KEY(struct place *place)
{
    write_to(place, 0xffff00, place_address(&place->b, 0));
}

static void provoke_REMOTE_PD(struct place *place)
{
    write_to(place, place_key(&place->b, 0, HALF, PLACE_PD + 1, REMOTE_WRITE),
             place_address(&place->b, 0));
}

static void provoke_REMOTE_BOUNDS(struct place *place)
{
    write_to(place, place_key(&place->b, 0, HALF, PLACE_PD, REMOTE_WRITE),
             place_address(&place->b, 0) - 1);
}

static void provoke_REMOTE_PERMISSION(struct place *place)
{
    write_to(place, place_key(&place->b, 0, HALF, PLACE_PD, 0x5),
             place_address(&place->b, 0));
}

static void provoke_REMOTE_DISABLED(struct place *place)
{
    place_close(place);
    place_open(place, &(struct options){.access = MGDS_HCA_REMOTE_READ});
    write_to(place, place->b.key, place_address(&place->b, 0));
}

static void provoke_REMOTE_ALIGNMENT(struct place *place)
{
    struct wqe wqe = fetch_add(place, 4, 8);

    send_it(place, &wqe);
}

static void send_ten(struct place *place)
{
    struct wqe wqe = wqe_send(&place->a, 0, 10);

    send_it(place, &wqe);
}

static void provoke_RECEIVE_SHORT(struct place *place)
{
    post_receive(&place->b, 0, 9);
    send_ten(place);
}

static void provoke_RECEIVE_LIST(struct place *place)
{
    post_receive(&place->b, 0, 0x80000000u | 64);
    send_ten(place);
}

static void receive_into(struct place *place, uint32_t lkey, uint64_t address)
{
    struct wqe list = {.bytes = 0};

    wqe_data(&list, 64, lkey, address);
    wqe_data(&list, 0, 0x100, 0);
    post_receive_bytes(&place->b, list.at, list.bytes);
    send_ten(place);
}

static void provoke_RECEIVE_KEY(struct place *place)
{
    receive_into(place, 0x77700, place_address(&place->b, 0));
}

static void provoke_RECEIVE_PD(struct place *place)
{
    receive_into(place, place_key(&place->b, 0, HALF, PLACE_PD + 1, 1),
                 place_address(&place->b, 0));
}

static void provoke_RECEIVE_BOUNDS(struct place *place)
{
    receive_into(place, place_key(&place->b, 0, HALF, PLACE_PD, 1),
                 place_address(&place->b, HALF - 63));
}

static void provoke_RECEIVE_ACCESS(struct place *place)
{
    receive_into(place, place_key(&place->b, 0, HALF, PLACE_PD, 0),
                 place_address(&place->b, 0));
}

static void provoke_RECEIVE_EMPTY(struct place *place)
{
    place_close(place);
    place_open(place, &(struct options){.rnr_retry = 1});
    send_ten(place);
    expect_none(&place->a.sends);
    place->clock += PLACE_DELAY;
    place_run(place);
}

static void provoke_NO_RESPONSE(struct place *place)
{
    struct mgds_hca_change change = {.state = MGDS_STATE_RESET};

    assert_int_equal(mgds_hca_qp_modify(place->b.qp, &change), 0);
    write_to(place, place->b.key, place_address(&place->b, 0));
}

static void provoke_FLUSHED(struct place *place)
{
    struct mgds_hca_change change = {.state = MGDS_STATE_ERR};

    assert_int_equal(mgds_hca_qp_modify(place->a.qp, &change), 0);
    write_to(place, place->b.key, place_address(&place->b, 0));
}

/* The CQ has two entries, and its program takes none. */
static void provoke_CQ_OVERRUN(struct place *place)
{
    struct wqe wqe;

    place_close(place);
    place_open(place, &(struct options){.entries = 2});
    for (int i = 0; i < 3; i++) {
        wqe = wqe_write(&place->a, 0, 8);
        send_it(place, &wqe);
    }
}

struct row {
    const char *name;
    provoke *provoke;
    const char *source;
};

static const struct row rows[] = {
#define X(name, s, v, rs, rv, who, event, source)                              \
    [MGDS_CAUSE_##name] = {#name, provoke_##name, source},
#include "sim/hca/syndromes.def"
#undef X
};

static void check_send(struct place *place,
                       const struct mgds_hca_verdict *verdict)
{
    struct cqe cqe = expect_error(&place->a.sends, verdict->syndrome, 0);

    assert_int_equal(cqe.opcode, 13);
    assert_int_equal(cqe.vendor, verdict->vendor);
    assert_int_equal(cqe.qpn, PLACE_QPN_A);
    assert_int_equal(cqe.user_index, PLACE_UIDX);
    expect_none(&place->a.sends);
}

static void check_receive(struct place *place,
                          const struct mgds_hca_verdict *verdict)
{
    struct cqe cqe;

    if (verdict->receive_syndrome == 0 ||
        verdict->receive_syndrome == MGDS_SYNDROME_FLUSHED) {
        expect_none(&place->b.receives);
        return;
    }
    cqe = expect_error(&place->b.receives, verdict->receive_syndrome, 0);
    assert_int_equal(cqe.opcode, 14);
    assert_int_equal(cqe.vendor, verdict->receive_vendor);
}

static void check_states(struct place *place,
                         const struct mgds_hca_verdict *verdict)
{
    bool both = verdict->blame == MGDS_BLAME_BOTH;

    assert_int_equal(place->a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place->b.qp->state == MGDS_STATE_ERR, both);
    assert_int_equal(place->events, verdict->event != MGDS_EVENT_NONE);
    if (place->events == 0)
        return;
    assert_int_equal(place->event[0], verdict->event);
    assert_int_equal(place->event_number[0], both ? PLACE_QPN_B : PLACE_QPN_A);
}

static void check_row(enum mgds_hca_cause cause)
{
    const struct mgds_hca_verdict *verdict = mgds_hca_verdict(cause);
    struct place place;

    printf("%s: syndrome 0x%02x/%02x\n", rows[cause].name, verdict->syndrome,
           verdict->vendor);
    assert_true(strlen(verdict->source) > 0);
    place_open(&place, NULL);
    rows[cause].provoke(&place);
    check_send(&place, verdict);
    check_receive(&place, verdict);
    check_states(&place, verdict);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

static void every_check_has_the_verdict_of_its_row(void **state)
{
    (void)state;
    for (int cause = 1; cause < MGDS_CAUSES; cause++) {
        if (cause != MGDS_CAUSE_CQ_OVERRUN)
            check_row((enum mgds_hca_cause)cause);
    }
}

static void an_overrun_queue_is_in_error(void **state)
{
    struct place place;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    provoke_CQ_OVERRUN(&place);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    assert_int_equal(place.events, 2);
    assert_int_equal(place.event[0], MGDS_EVENT_CQ_ERR);
    assert_int_equal(place.event[1], MGDS_EVENT_QP_FATAL);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    assert_false(take_cqe(&place.a.sends, &cqe));
    place_close(&place);
}

static void an_ignored_overrun_overwrites(void **state)
{
    struct options options = {.entries = 2, .ignore_overrun = true};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (int i = 0; i < 5; i++) {
        wqe = wqe_write(&place.a, 0, 8);
        run_one(&place.a, &wqe);
    }
    assert_int_equal(place.events, 0);
    place.a.sends.consumed = 3;
    expect_cqe(&place.a.sends, 0, 3);
    expect_cqe(&place.a.sends, 0, 4);
    place_close(&place);
}

static void a_capability_that_is_absent_is_no_opcode(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    place.a.hca->config.capabilities = MGDS_HCA_CAN_BASE;
    wqe = fetch_add(&place, 0, 8);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x02, 0);
    place_close(&place);
}

static void an_element_of_0_bytes_is_not_empty(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_write(&place.a, 0, 0);
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x04, 0);
    place_close(&place);
}

/* It is the address that counts, and where it is. */
static void atomics_are_aligned_in_both_views(void **state)
{
    struct mgds_hca_memory memory = {.bytes = 64, .pd = PLACE_PD, .access = 15};
    struct place place;
    struct wqe wqe;

    (void)state;
    for (unsigned shift = 0; shift <= 4; shift += 4) {
        place_open(&place, NULL);
        memory.at = place.b.memory + shift;
        memory.address = 0x1000 + 4 - shift;
        wqe = fetch_add(&place, 0, 8);
        wqe.bytes = 16;
        assert_int_equal(
            mgds_hca_key_attach(place.b.hca, &memory, &place.b.key), 0);
        wqe_raddr(&wqe, memory.address, place.b.key);
        wqe.bytes = 64;
        run_one(&place.a, &wqe);
        expect_error(&place.a.sends, 0x12, 0);
        place_close(&place);
    }
}

static void keys_of_the_past_are_unknown(void **state)
{
    struct place place;
    uint32_t key;

    (void)state;
    place_open(&place, NULL);
    key = place_key(&place.a, 0, HALF, PLACE_PD, 1);
    assert_int_equal(mgds_hca_key_detach(place.a.hca, key), 0);
    assert_int_equal(mgds_hca_key_detach(place.a.hca, key), -2);
    write_from(&place, key, place_address(&place.a, 0));
    expect_error(&place.a.sends, 0x04, 0);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_check_has_the_verdict_of_its_row),
        cmocka_unit_test(an_overrun_queue_is_in_error),
        cmocka_unit_test(an_ignored_overrun_overwrites),
        cmocka_unit_test(a_capability_that_is_absent_is_no_opcode),
        cmocka_unit_test(an_element_of_0_bytes_is_not_empty),
        cmocka_unit_test(atomics_are_aligned_in_both_views),
        cmocka_unit_test(keys_of_the_past_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
