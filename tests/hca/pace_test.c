/* Ports with a rate and a latency: when what is sent arrives, on a clock that
 * goes on where only that helps. */
#include <stdlib.h>

#include "tests/hca/place.h"

enum { MICROSECOND = 1000, TIMEOUT = 16, BYTES = 60000 };
enum { QPS = 4, PART = 16000 };

static void run_write(struct place *place, uint32_t bytes)
{
    struct wqe wqe = wqe_write(&place->a, 0, bytes);

    run_one(&place->a, &wqe);
    expect_cqe(&place->a.sends, 0, 0);
    assert_memory_equal(place->b.memory, place->a.memory, bytes);
}

static uint64_t repeated(const struct place *place)
{
    const uint64_t *count = place->b.port->outlet.count;

    return count[MGDS_COUNT_DUPLICATES] + count[MGDS_COUNT_GAPS];
}

/* There and back. */
static void packets_are_on_their_way_for_a_time(void **state)
{
    struct options options = {
        .packets = true, .speed = {.latency = UINT64_C(300) * MICROSECOND}};
    struct place place;
    uint64_t clock;

    (void)state;
    place_open(&place, &options);
    clock = place.clock;
    run_write(&place, 8);
    assert_int_equal(place.clock - clock, 600 * MICROSECOND);
    assert_int_equal(repeated(&place), 0);
    place_close(&place);
}

/* Bytes of a microsecond, those of headers too; also so few that a message
 * takes as long as some of a requester's timers. */
static void packets_leave_one_behind_the_other(void **state)
{
    static const uint64_t rates[] = {1, 100, 5000};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct options options = {.packets = true,
                                  .mtu = 1024,
                                  .timeout = TIMEOUT,
                                  .speed = {.rate = rates[i]}};
        struct place place;
        uint64_t clock, least = BYTES * UINT64_C(1000) / rates[i];

        place_open(&place, &options);
        clock = place.clock;
        run_write(&place, BYTES);
        assert_in_range(place.clock - clock, least, least + least / 8);
        assert_int_equal(repeated(&place), 0);
        place_close(&place);
    }
}

/* More packets than can be on their way, and answers with data. */
static void all_that_is_sent_arrives(void **state)
{
    struct options options = {
        .packets = true,
        .mtu = 256,
        .timeout = TIMEOUT,
        .speed = {.rate = 20, .latency = UINT64_C(5000) * MICROSECOND}};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (uint16_t i = 0; i < 8; i++) {
        wqe = i % 2 ? wqe_read(&place.a, 0, BYTES)
                    : wqe_write(&place.a, 0, BYTES);
        post(&place.a, &wqe);
    }
    ring(&place.a);
    place_run(&place);
    for (uint16_t i = 0; i < 8; i++)
        expect_cqe(&place.a.sends, 0, i);
    assert_memory_equal(place.b.memory, place.a.memory, BYTES);
    assert_int_equal(repeated(&place), 0);
    place_close(&place);
}

/* A QP of its own on each side, which share all but the ring and the record. */
static void attach_pair(struct place *place, struct end *a,
                        struct mgds_hca_qp **peer)
{
    struct mgds_hca_qp_attr attr = place->b.qp->attr;

    attr.receives = 0;
    assert_int_equal(mgds_hca_qp_attach(place->b.hca, &attr, peer), 0);
    attr = place->a.qp->attr;
    attr.receives = 0;
    attr.record = a->record;
    attr.send_buffer = a->send = aligned_alloc(4096, 4096);
    assert_int_equal(mgds_hca_qp_attach(place->a.hca, &attr, &a->qp), 0);
    place_connect(&place->b, *peer, a->qp->number);
    place_connect(&place->a, a->qp, (*peer)->number);
}

static void write_part(const struct place *place, struct end *a, unsigned part)
{
    struct wqe wqe = wqe_write(&place->a, part * (size_t)PART, PART);

    wqe.at[4] = (uint8_t)(a->qp->number >> 16);
    wqe.at[5] = (uint8_t)(a->qp->number >> 8);
    wqe.at[6] = (uint8_t)a->qp->number;
    post(a, &wqe);
    ring(a);
}

/* When the first QP has sent its message, and the last. */
static void run_to_end(struct place *place, uint64_t *first, uint64_t *last)
{
    uint64_t start = place->clock;
    unsigned count = 0;
    struct cqe cqe;

    while (count < QPS) {
        while (mgds_hca_run(place->a.hca) + mgds_hca_run(place->b.hca) > 0)
            ;
        for (; take_cqe(&place->a.sends, &cqe); count++) {
            *last = place->clock - start;
            *first = count ? *first : *last;
        }
        if (count < QPS)
            place->clock = mgds_hca_port_due(place->a.port);
    }
}

/* Those that have found no room are the next. */
static void room_goes_round(void **state)
{
    struct options options = {.packets = true,
                              .mtu = 256,
                              .service = MGDS_SERVICE_UC,
                              .speed = {.rate = 1}};
    struct mgds_hca_qp *peer[QPS];
    struct end a[QPS];
    struct place place;
    uint64_t first = 0, last = 0;

    (void)state;
    place_open(&place, &options);
    for (unsigned i = 0; i < QPS; i++) {
        a[i] = place.a;
        attach_pair(&place, &a[i], &peer[i]);
    }
    for (unsigned i = 0; i < QPS; i++)
        write_part(&place, &a[i], i);
    run_to_end(&place, &first, &last);
    assert_true(first > last / 3 * 2);
    place_run(&place);
    assert_memory_equal(place.b.memory, place.a.memory, (size_t)QPS * PART);
    for (unsigned i = 0; i < QPS; i++) {
        mgds_hca_qp_detach(a[i].qp);
        mgds_hca_qp_detach(peer[i]);
        free(a[i].send);
    }
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_are_on_their_way_for_a_time),
        cmocka_unit_test(packets_leave_one_behind_the_other),
        cmocka_unit_test(all_that_is_sent_arrives),
        cmocka_unit_test(room_goes_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
