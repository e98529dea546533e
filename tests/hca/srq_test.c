/* Shared receive queues: links, counters, limits, and QPs that end. */
#include <errno.h>
#include <string.h>

#include "tests/hca/place.h"
#include "sim/hca/srq.h"

enum { SLOTS = 4, STRIDE = 32 };

/* A shared queue of end b with its program. */
struct shared {
    struct place place;
    struct mgds_hca_srq *srq;
    _Alignas(16) uint8_t ring[SLOTS * STRIDE];
    _Alignas(8) struct mgds_be32 record[1];
    uint16_t posts;
};

/* Slots are linked in this order, which is not theirs. */
static const uint8_t order[SLOTS] = {0, 2, 1, 3};

static void link_slots(struct shared *shared)
{
    for (unsigned i = 0; i < SLOTS; i++)
        shared->ring[order[i] * STRIDE + 3] = order[(i + 1) % SLOTS];
}

static void open_shared(struct shared *shared, struct options options)
{
    struct mgds_hca_srq_attr attr = {.buffer = shared->ring,
                                     .slots = SLOTS,
                                     .stride = STRIDE,
                                     .record = shared->record,
                                     .pd = PLACE_PD};

    *shared = (struct shared){.posts = 0};
    link_slots(shared);
    options.unconnected = true;
    place_open(&shared->place, &options);
    assert_int_equal(
        mgds_hca_srq_attach(shared->place.b.hca, &attr, &shared->srq), 0);
    place_use_srq(&shared->place.b, shared->srq);
    place_connect(&shared->place.a, shared->place.a.qp, PLACE_QPN_B);
    place_connect(&shared->place.b, shared->place.b.qp, PLACE_QPN_A);
}

static void close_shared(struct shared *shared)
{
    assert_int_equal(mgds_hca_srq_detach(shared->srq), -EBUSY);
    place_use_srq(&shared->place.b, NULL);
    assert_int_equal(mgds_hca_srq_detach(shared->srq), 0);
    place_close(&shared->place);
}

static void count_posts(struct shared *shared)
{
    const uint8_t be[4] = {0, 0, (uint8_t)(shared->posts >> 8),
                           (uint8_t)shared->posts};

    memcpy(&shared->record[0], be, sizeof(be));
}

/* In the slot that is next in the order: one element of `bytes`. */
static void post_shared(struct shared *shared, size_t offset, uint32_t bytes)
{
    struct end *b = &shared->place.b;
    uint8_t *slot =
        shared->ring + order[shared->posts % SLOTS] * (size_t)STRIDE;
    struct wqe element = {.bytes = 0};

    wqe_data(&element, bytes, b->key, place_address(b, offset));
    memcpy(slot + 16, element.at, 16);
    shared->posts++;
    count_posts(shared);
}

static void send(struct shared *shared, size_t offset, uint32_t bytes)
{
    struct wqe wqe = wqe_send(&shared->place.a, offset, bytes);

    run_one(&shared->place.a, &wqe);
}

static void links_are_followed(void **state)
{
    struct shared shared;
    struct cqe cqe;

    (void)state;
    open_shared(&shared, (struct options){.packets = true, .mtu = 256});
    for (unsigned i = 0; i < 3 * SLOTS; i++) {
        post_shared(&shared, 4096, 1000);
        send(&shared, i * (size_t)64, 1000);
        expect_cqe(&shared.place.a.sends, 0, (uint16_t)i);
        cqe = expect_cqe(&shared.place.b.receives, 2, order[i % SLOTS]);
        assert_int_equal(cqe.bytes, 1000);
        assert_memory_equal(shared.place.b.memory + 4096,
                            shared.place.a.memory + i * (size_t)64, 1000);
    }
    close_shared(&shared);
}

static void an_empty_queue_is_not_ready(void **state)
{
    struct shared shared;

    (void)state;
    open_shared(&shared, (struct options){.packets = true, .rnr_retry = 1});
    send(&shared, 0, 8);
    expect_error(&shared.place.a.sends, 0x16, 0);
    assert_int_equal(shared.place.b.qp->state, MGDS_STATE_RTS);
    close_shared(&shared);
}

static void a_limit_is_told_once(void **state)
{
    struct shared shared;
    struct place *place = &shared.place;

    (void)state;
    open_shared(&shared, (struct options){.collapsed = false});
    assert_int_equal(mgds_hca_srq_limit(shared.srq, SLOTS + 1), -EINVAL);
    for (int i = 0; i < 4; i++)
        post_shared(&shared, 4096, 64);
    assert_int_equal(mgds_hca_srq_limit(shared.srq, 3), 0);
    send(&shared, 0, 8);
    assert_int_equal(place->events, 0);
    send(&shared, 0, 8);
    assert_int_equal(place->events, 1);
    assert_int_equal(place->event[0], MGDS_EVENT_SRQ_LIMIT);
    assert_int_equal(place->event_number[0], shared.srq->number);
    send(&shared, 0, 8);
    assert_int_equal(place->events, 1);
    close_shared(&shared);
}

/* Its receives are not flushed: another QP may take them. */
static void a_qp_that_ends_tells_so(void **state)
{
    struct mgds_hca_change error = {.state = MGDS_STATE_ERR};
    struct shared shared;
    struct place *place = &shared.place;

    (void)state;
    open_shared(&shared, (struct options){.collapsed = false});
    post_shared(&shared, 4096, 64);
    assert_int_equal(mgds_hca_qp_modify(place->b.qp, &error), 0);
    place_run(place);
    expect_none(&place->b.receives);
    assert_int_equal(place->events, 1);
    assert_int_equal(place->event[0], MGDS_EVENT_LAST_WQE);
    assert_int_equal(place->event_number[0], PLACE_QPN_B);
    assert_int_equal(mgds_hca_srq_posted(shared.srq), 1);
    close_shared(&shared);
}

/* A message that is too long for its receive has taken that one. */
static void a_short_receive_fails(void **state)
{
    struct shared shared;
    struct place *place = &shared.place;

    (void)state;
    open_shared(&shared, (struct options){.collapsed = false});
    post_shared(&shared, 4096, 64);
    post_shared(&shared, 4096, 64);
    send(&shared, 0, 65);
    expect_error(&place->a.sends, 0x12, 0);
    expect_error(&place->b.receives, 0x01, 0);
    expect_none(&place->b.receives);
    assert_int_equal(mgds_hca_srq_posted(shared.srq), 1);
    close_shared(&shared);
}

static void strides_are_the_kernels(void **state)
{
    static const uint32_t rows[][2] = {{0, 32},  {1, 32},  {2, 64},  {3, 64},
                                       {4, 128}, {7, 128}, {31, 512}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(mgds_hca_srq_stride(rows[i][0]), rows[i][1]);
}

static void wrong_attributes_are_refused(void **state)
{
    static uint8_t ring[SLOTS * STRIDE + 8];
    static struct mgds_be32 record;
    const struct mgds_hca_srq_attr good = {
        .buffer = ring, .slots = SLOTS, .stride = STRIDE, .record = &record};
    struct mgds_hca_srq_attr bad[4];
    struct mgds_hca_srq *srq;
    struct place place;

    (void)state;
    place_open(&place, NULL);
    for (size_t i = 0; i < 4; i++)
        bad[i] = good;
    bad[0].buffer = ring + 8;
    bad[1].slots = 3;
    bad[2].stride = 16;
    bad[3].record = NULL;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(mgds_hca_srq_attach(place.a.hca, &bad[i], &srq),
                         -EINVAL);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(an_empty_queue_is_not_ready),
        cmocka_unit_test(a_limit_is_told_once),
        cmocka_unit_test(a_qp_that_ends_tells_so),
        cmocka_unit_test(a_short_receive_fails),
        cmocka_unit_test(strides_are_the_kernels),
        cmocka_unit_test(wrong_attributes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
