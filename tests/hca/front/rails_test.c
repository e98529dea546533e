/* Several rails at a time: two software HCAs, over which the stripes of a
 * buffer go; and many queue pairs, one after the other, of which nothing is
 * left. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/hca/choice.h"
#include "tests/hca/front/rail_side.h"
#include "tests/lib/sanitized.h"

enum { RAILS = 2, STRIPE = 4096, STRIPES = 16, CYCLES = 2000 };

/* Both ends of a message: a QP on each rail, and one memory that all of them
 * have registered. */
struct end {
    struct mgds_rail *rail[RAILS];
    struct mgds_qp *qp[RAILS];
    struct mgds_region region[RAILS];
    uint8_t *memory;
};

static void open_rails(struct mgds_rail *rail[RAILS])
{
    const struct mgds_choice choice = {.most = MGDS_END_RAILS};
    struct mgds_refusal refusal;
    struct mgds_port *ports;
    int count = mgds_ports_list(&ports, "/sys");

    assert_int_equal(count, RAILS);
    assert_int_equal(
        mgds_choose_ports(ports, (unsigned)count, &choice, &refusal), RAILS);
    for (unsigned i = 0; i < RAILS; i++)
        assert_int_equal(
            mgds_rail_open(&rail[i], &ports[i], &side_settings, &refusal), 0);
    free(ports);
}

static void open_end(struct end *end, struct mgds_end *told)
{
    struct mgds_region_memory memory = {.bytes = SIDE_MEMORY, .dmabuf = -1};
    struct mgds_refusal refusal;

    end->memory = aligned_alloc(STRIPE, SIDE_MEMORY);
    assert_non_null(end->memory);
    memset(end->memory, 0, SIDE_MEMORY);
    memory.address = (uintptr_t)end->memory;
    open_rails(end->rail);
    *told = (struct mgds_end){.rails = RAILS};
    for (unsigned i = 0; i < RAILS; i++) {
        assert_int_equal(
            mgds_qp_create(&end->qp[i], end->rail[i], SIDE_BLOCKS, &refusal),
            0);
        assert_int_equal(
            mgds_region_init(&end->region[i], end->rail[i], &memory, &refusal),
            0);
        mgds_qp_describe(end->qp[i], &told->rail[i]);
    }
}

static void connect_end(struct end *end, const struct mgds_end *mine,
                        const struct mgds_end *theirs)
{
    struct mgds_refusal refusal;
    struct mgds_terms terms;

    assert_int_equal(mgds_end_agree(mine, theirs, &terms, &refusal), 0);
    assert_int_equal(terms.rails, RAILS);
    for (unsigned i = 0; i < RAILS; i++)
        assert_int_equal(mgds_qp_connect(end->qp[i], &theirs->rail[i],
                                         terms.mtu[i], &refusal),
                         0);
}

static void close_end(struct end *end)
{
    for (unsigned i = 0; i < RAILS; i++) {
        mgds_qp_destroy(end->qp[i]);
        mgds_region_fini(&end->region[i]);
        mgds_rail_close(end->rail[i]);
    }
    free(end->memory);
}

/* The stripe goes by the rail of its number. */
static void write_stripe(const struct end *from, const struct end *to,
                         unsigned stripe)
{
    unsigned rail = stripe % RAILS;
    struct mgds_sendq *queue = mgds_qp_sendq(from->qp[rail]);
    size_t at = (size_t)stripe * STRIPE;
    const struct mgds_wqe_path path = {.qpn = queue->qpn};
    const struct mgds_wqe_remote remote = {(uintptr_t)to->memory + at,
                                           to->region[rail].rkey};
    const struct mgds_wqe_local local = {(uintptr_t)from->memory + at, STRIPE,
                                         from->region[rail].lkey};
    struct mgds_wqe wqe =
        mgds_wqe_write(path, MGDS_WQE_CE_ALWAYS, remote, local);
    uint32_t index;

    assert_int_equal(mgds_sendq_put(queue, &wqe, &index), 0);
    mgds_sendq_ring(queue);
}

static void stripes_go_over_all_rails(void **state)
{
    struct mgds_end told_a, told_b;
    struct end a, b;

    (void)state;
    open_end(&a, &told_a);
    open_end(&b, &told_b);
    assert_int_not_equal(told_a.rail[0].lid, told_a.rail[1].lid);
    connect_end(&a, &told_a, &told_b);
    connect_end(&b, &told_b, &told_a);
    for (unsigned i = 0; i < SIDE_MEMORY; i++)
        a.memory[i] = (uint8_t)(i * 7 + i / 256);
    for (unsigned i = 0; i < STRIPES; i++)
        write_stripe(&a, &b, i);
    for (unsigned i = 0; i < STRIPES; i++) {
        struct rail_side side = {.sendq = mgds_qp_sendq(a.qp[i % RAILS])};

        side_expect(&side, i / RAILS);
    }
    assert_memory_equal(b.memory, a.memory, SIDE_MEMORY);
    close_end(&a);
    close_end(&b);
}

static unsigned open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Doorbell registers are the first thing that would be short. */
static void of_queue_pairs_nothing_is_left(void **state)
{
    struct mgds_rail *rail[RAILS];
    struct mgds_refusal refusal;
    unsigned files = 0;

    (void)state;
    open_rails(rail);
    for (unsigned i = 0; i < mgds_test_laps(CYCLES); i++) {
        struct mgds_end_rail mine;
        struct mgds_qp *qp;

        assert_int_equal(
            mgds_qp_create(&qp, rail[i % RAILS], SIDE_BLOCKS, &refusal), 0);
        mgds_qp_describe(qp, &mine);
        assert_int_equal(mgds_qp_connect(qp, &mine, mine.mtu, &refusal), 0);
        mgds_qp_destroy(qp);
        if (i == RAILS)
            files = open_files();
    }
    assert_int_equal(open_files(), files);
    for (unsigned i = 0; i < RAILS; i++)
        mgds_rail_close(rail[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripes_go_over_all_rails),
        cmocka_unit_test(of_queue_pairs_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
