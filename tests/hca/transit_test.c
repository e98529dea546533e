/* Tests of what readers find of an HCA's writes, when memory of GPUs is behind
 * buses of its own. */
#include <string.h>

#include "sim/hca/transit.h"
#include "tests/hca/place.h"

/* Places in b's memory: of two GPUs, and of the host. */
enum { GPU_0 = 0, GPU_1 = 0x4000, ON_HOST = 0x8000, REGION = 0x4000 };
enum { DATA = 0, FLAG = 0x2000, BYTES = 600, LAPS = 60, LATE = 50000 };
enum { WRITE = 0x08, WRITE_IMM = 0x09, FETCH_ADD = 0x12, DUMP = 0x23 };

static void add_gpu(struct place *place, size_t at, unsigned gpu,
                    enum mgds_hca_ordering ordering)
{
    struct mgds_hca_region region = {.at = place->b.memory + at,
                                     .bytes = REGION,
                                     .gpu = gpu,
                                     .ordering = ordering};

    assert_int_equal(mgds_hca_transit_add(place->b.hca, &region), 0);
}

static void open_gpus(struct place *place, enum mgds_hca_ordering ordering)
{
    struct options options = {.packets = true, .blocks = 1024};

    place_open(place, &options);
    place->b.hca->config.late_write = LATE;
    place->b.hca->config.seed = 5;
    add_gpu(place, GPU_0, 0, ordering);
    add_gpu(place, GPU_1, 1, ordering);
}

static void close_gpus(struct place *place)
{
    mgds_hca_transit_land(place->b.hca);
    mgds_hca_transit_drop(place->b.hca, place->b.memory + GPU_0);
    mgds_hca_transit_drop(place->b.hca, place->b.memory + GPU_1);
    place_close(place);
}

/* Does all that can be done at this time. */
static void run(struct place *place)
{
    while (mgds_hca_run(place->a.hca) + mgds_hca_run(place->b.hca) > 0)
        ;
}

/* False: nothing is left to happen. */
static bool wait_for_next(struct place *place)
{
    uint64_t due = mgds_hca_port_due(place->b.port);

    if (due > place->clock)
        place->clock = due;
    return due > 0;
}

static bool is_there(const struct place *place, size_t offset, size_t bytes)
{
    return memcmp(place->b.memory + offset, place->a.memory + offset, bytes) ==
           0;
}

/* New bytes at a; b has others there. */
static void change(struct place *place, size_t offset, size_t bytes,
                   unsigned lap)
{
    for (size_t i = 0; i < bytes; i++) {
        place->a.memory[offset + i] = (uint8_t)(lap + i % 5);
        place->b.memory[offset + i] = (uint8_t) ~(lap + i % 5);
    }
}

static void post_write(struct place *place, size_t offset, uint32_t bytes)
{
    struct wqe wqe = wqe_write(&place->a, offset, bytes);

    post(&place->a, &wqe);
}

/* Adds what makes b's word at `offset` that of a. */
static void post_add(struct place *place, size_t offset)
{
    struct wqe wqe = wqe_ctrl(&place->a, FETCH_ADD, SIGNALLED);
    uint64_t here, there;

    memcpy(&here, place->a.memory + offset, sizeof(here));
    memcpy(&there, place->b.memory + offset, sizeof(there));
    wqe_raddr(&wqe, place_address(&place->b, offset), place->b.key);
    wqe_atomic(&wqe, here - there, 0);
    wqe_data(&wqe, 8, place->a.key, place_address(&place->a, 0xf000));
    post(&place->a, &wqe);
}

/* Data, and a flag behind it on the same QP: whether a reader may find the flag
 * and not the data. */
static bool runs_ahead(struct place *place, size_t data, size_t flag,
                       uint8_t opcode)
{
    bool ahead = false;
    struct cqe cqe;

    post_write(place, data, BYTES);
    if (opcode == FETCH_ADD)
        post_add(place, flag);
    else
        post_write(place, flag, 8);
    ring(&place->a);
    do {
        run(place);
        ahead |= is_there(place, flag, 8) && !is_there(place, data, BYTES);
    } while (wait_for_next(place));
    assert_true(is_there(place, data, BYTES) && is_there(place, flag, 8));
    while (take_cqe(&place->a.sends, &cqe))
        assert_int_equal(cqe.opcode, 0);
    return ahead;
}

static void a_flag_is_behind_its_data_where_that_is_promised(void **state)
{
    static const struct {
        size_t data;
        size_t flag;
        enum mgds_hca_ordering ordering;
        uint8_t opcode;
        bool ahead;
    } rows[] = {
        {GPU_0, GPU_0, MGDS_HCA_ORDERING_NONE, WRITE, true},
        {GPU_0, ON_HOST, MGDS_HCA_ORDERING_NONE, WRITE, true},
        {ON_HOST, ON_HOST, MGDS_HCA_ORDERING_NONE, WRITE, false},
        {GPU_0, GPU_0, MGDS_HCA_ORDERING_NONE, FETCH_ADD, false},
        {GPU_0, GPU_0, MGDS_HCA_ORDERING_OWNER, WRITE, false},
        {GPU_0, GPU_1, MGDS_HCA_ORDERING_OWNER, WRITE, true},
        {GPU_0, ON_HOST, MGDS_HCA_ORDERING_OWNER, WRITE, true},
        {ON_HOST, GPU_0, MGDS_HCA_ORDERING_OWNER, WRITE, true},
        {ON_HOST, ON_HOST, MGDS_HCA_ORDERING_OWNER, WRITE, false},
        {GPU_0, GPU_1, MGDS_HCA_ORDERING_OWNER, FETCH_ADD, false},
        {GPU_0, GPU_1, MGDS_HCA_ORDERING_ALL, WRITE, false},
        {GPU_0, ON_HOST, MGDS_HCA_ORDERING_ALL, WRITE, false},
    };
    struct place place;

    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        size_t data = rows[row].data + DATA, flag = rows[row].flag + FLAG;
        unsigned ahead = 0;

        open_gpus(&place, rows[row].ordering);
        for (unsigned lap = 0; lap < LAPS; lap++) {
            change(&place, data, BYTES, lap);
            change(&place, flag, 8, lap);
            ahead += runs_ahead(&place, data, flag, rows[row].opcode);
        }
        if (rows[row].ahead != (ahead > 0))
            print_error("row %zu: %u of %d\n", row, ahead, LAPS);
        assert_int_equal(rows[row].ahead, ahead > 0);
        close_gpus(&place);
    }
}

/* Counts laps in which the CQE is there and the data is not. */
static unsigned count_early(struct place *place, struct queue *queue,
                            uint8_t opcode)
{
    unsigned early = 0;
    struct wqe wqe;
    struct cqe cqe;

    for (unsigned lap = 0; lap < LAPS; lap++) {
        change(place, DATA, BYTES, lap);
        if (opcode == WRITE_IMM)
            post_receive(&place->b, ON_HOST, 64);
        wqe = wqe_write(&place->a, DATA, BYTES);
        wqe.at[3] = opcode;
        post(&place->a, &wqe);
        ring(&place->a);
        run(place);
        while (!take_cqe(queue, &cqe)) {
            assert_true(wait_for_next(place));
            run(place);
        }
        early += !is_there(place, DATA, BYTES);
        while (wait_for_next(place))
            run(place);
        while (take_cqe(&place->a.sends, &cqe))
            ;
    }
    return early;
}

/* CQEs of both sides do. With none they say nothing of memory of a GPU. */
static void completions_tell_of_data_with_owner(void **state)
{
    struct place place;

    (void)state;
    open_gpus(&place, MGDS_HCA_ORDERING_OWNER);
    assert_int_equal(count_early(&place, &place.a.sends, WRITE), 0);
    assert_int_equal(count_early(&place, &place.b.receives, WRITE_IMM), 0);
    close_gpus(&place);
    open_gpus(&place, MGDS_HCA_ORDERING_NONE);
    assert_int_equal(count_early(&place, &place.a.sends, WRITE), LAPS);
    assert_int_equal(count_early(&place, &place.b.receives, WRITE_IMM), LAPS);
    close_gpus(&place);
}

/* A WRITE that has completed and is still on its way. */
static void leave_on_its_way(struct place *place, size_t offset)
{
    struct cqe cqe;

    change(place, offset, BYTES, 1);
    post_write(place, offset, BYTES);
    ring(&place->a);
    run(place);
    assert_true(take_cqe(&place->a.sends, &cqe));
    assert_false(is_there(place, offset, BYTES));
}

static void push_by_flush(struct place *place)
{
    mgds_hca_transit_flush(place->b.hca, 0);
}

/* The READ is of another byte of the same GPU. */
static void push_by_read(struct place *place)
{
    struct wqe wqe = wqe_read(&place->a, GPU_0 + 0x3000, 1);

    post(&place->a, &wqe);
    ring(&place->a);
    run(place);
}

static void push_by_dump(struct place *place)
{
    struct wqe wqe = wqe_ctrl(&place->b, DUMP, SIGNALLED);

    wqe_data(&wqe, 1, place->b.key, place_address(&place->b, GPU_0));
    post(&place->b, &wqe);
    ring(&place->b);
    run(place);
}

static void push_by_end_of_key(struct place *place)
{
    uint32_t key = place_key(&place->b, 0, 1, PLACE_PD, 0);

    mgds_hca_key_detach(place->b.hca, key);
}

static void what_is_on_its_way_is_pushed(void **state)
{
    static void (*const push[])(struct place * place) = {
        push_by_flush, push_by_read, push_by_dump, push_by_end_of_key};
    struct place place;

    (void)state;
    for (size_t i = 0; i < sizeof(push) / sizeof(push[0]); i++) {
        open_gpus(&place, MGDS_HCA_ORDERING_NONE);
        leave_on_its_way(&place, GPU_0 + DATA);
        push[i](&place);
        assert_true(is_there(&place, GPU_0 + DATA, BYTES));
        close_gpus(&place);
    }
    open_gpus(&place, MGDS_HCA_ORDERING_NONE);
    leave_on_its_way(&place, GPU_1 + DATA);
    mgds_hca_transit_flush(place.b.hca, 0); /* another GPU's */
    assert_false(is_there(&place, GPU_1 + DATA, BYTES));
    close_gpus(&place);
}

/* A READ's data comes to memory of a GPU in the same manner; its CQE is behind
 * it with owner. */
static void data_of_a_read_is_on_its_way_too(void **state)
{
    static const enum mgds_hca_ordering orderings[] = {MGDS_HCA_ORDERING_OWNER,
                                                       MGDS_HCA_ORDERING_NONE};
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    for (size_t i = 0; i < sizeof(orderings) / sizeof(orderings[0]); i++) {
        open_gpus(&place, orderings[i]);
        wqe = wqe_read(&place.b, GPU_0 + DATA, BYTES);
        post(&place.b, &wqe);
        ring(&place.b);
        run(&place);
        assert_true(take_cqe(&place.b.sends, &cqe));
        assert_int_equal(is_there(&place, GPU_0 + DATA, BYTES),
                         orderings[i] == MGDS_HCA_ORDERING_OWNER);
        while (wait_for_next(&place))
            run(&place);
        assert_true(is_there(&place, GPU_0 + DATA, BYTES));
        close_gpus(&place);
    }
}

/* More than can be held, and all to the same bytes: the last one stays. */
static void the_last_write_of_a_byte_stays(void **state)
{
    struct place place;
    struct cqe cqe;

    (void)state;
    open_gpus(&place, MGDS_HCA_ORDERING_NONE);
    for (unsigned lap = 0; lap < 600; lap++) {
        change(&place, DATA, 8, lap);
        post_write(&place, DATA, 8);
        ring(&place.a);
        run(&place);
        while (take_cqe(&place.a.sends, &cqe))
            assert_int_equal(cqe.opcode, 0);
    }
    while (wait_for_next(&place))
        run(&place);
    assert_true(is_there(&place, DATA, 8));
    close_gpus(&place);
}

/* The requester hears of a key whose memory was freed, as of one that never
 * was. */
static void memory_that_is_gone_has_no_key(void **state)
{
    uint32_t gone = 0, key;
    struct mgds_hca_memory memory = {.bytes = 64,
                                     .pd = PLACE_PD,
                                     .access = MGDS_HCA_LOCAL_WRITE |
                                               MGDS_HCA_REMOTE_WRITE,
                                     .gone = &gone};
    struct place place;
    struct wqe wqe;

    (void)state;
    open_gpus(&place, MGDS_HCA_ORDERING_OWNER);
    memory.at = place.b.memory;
    memory.address = place_address(&place.b, 0);
    assert_int_equal(mgds_hca_key_attach(place.b.hca, &memory, &key), 0);
    for (int i = 0; i < 2; i++) {
        wqe = wqe_ctrl(&place.a, WRITE, SIGNALLED);
        wqe_raddr(&wqe, memory.address, key);
        wqe_data(&wqe, 64, place.a.key, place_address(&place.a, 0));
        run_one(&place.a, &wqe);
        if (gone)
            expect_error(&place.a.sends, 0x13, 1);
        else
            expect_cqe(&place.a.sends, 0, 0);
        gone = 1;
    }
    assert_int_equal(mgds_hca_key_detach(place.b.hca, key), 0);
    close_gpus(&place);
}

/* Memory that the engine has a copy of. */
static struct {
    struct place place;
    uint8_t memory[REGION];
    uint64_t pulled, pushed; /* bytes */
} far;

static void pull(void *ctx, uint64_t offset, uint64_t bytes)
{
    assert_ptr_equal(ctx, &far);
    memcpy(far.place.b.memory + offset, far.memory + offset, bytes);
    far.pulled += bytes;
}

static void push(void *ctx, uint64_t offset, uint64_t bytes)
{
    assert_ptr_equal(ctx, &far);
    memcpy(far.memory + offset, far.place.b.memory + offset, bytes);
    far.pushed += bytes;
}

static void open_far(void)
{
    static const struct mgds_hca_far calls = {
        .pull = pull, .push = push, .ctx = &far};
    struct options options = {.packets = true, .mtu = 1024};
    struct mgds_hca_region region = {
        .bytes = REGION, .ordering = MGDS_HCA_ORDERING_ALL, .far = &calls};

    place_open(&far.place, &options);
    region.at = far.place.b.memory;
    memcpy(far.memory, far.place.b.memory, REGION);
    assert_int_equal(mgds_hca_transit_add(far.place.b.hca, &region), 0);
}

/* Changes by others are read, writes go to the memory, and nothing is copied
 * that nobody asked for. */
static void memory_that_is_far_is_kept_alike(void **state)
{
    struct place *place = &far.place;
    uint64_t word;
    struct wqe wqe;

    (void)state;
    open_far();
    wqe = wqe_write(&place->a, 64, 5000);
    run_one(&place->a, &wqe);
    assert_memory_equal(far.memory + 64, place->a.memory + 64, 5000);
    assert_int_equal(far.pushed, 5000);
    assert_int_equal(far.pulled, 0);
    memset(far.memory, 0x77, REGION);
    wqe = wqe_read(&place->a, 128, 5000);
    run_one(&place->a, &wqe);
    assert_memory_equal(place->a.memory + 128, far.memory + 128, 5000);
    assert_true(far.pulled <= 10000);
    memset(far.memory, 0x11, REGION);
    place->b.memory[0] = 0; /* the copy is old */
    wqe = wqe_write(&place->b, 0, 300);
    run_one(&place->b, &wqe);
    assert_memory_equal(place->a.memory, far.memory, 300);
    memcpy(&word, far.memory, sizeof(word));
    wqe = wqe_ctrl(&place->a, FETCH_ADD, SIGNALLED);
    wqe_raddr(&wqe, place_address(&place->b, 0), place->b.key);
    wqe_atomic(&wqe, 5, 0);
    wqe_data(&wqe, 8, place->a.key, place_address(&place->a, 0xf000));
    run_one(&place->a, &wqe);
    word += 5;
    assert_memory_equal(far.memory, &word, sizeof(word));
    assert_int_equal(far.pushed, 5008);
    mgds_hca_transit_drop(place->b.hca, place->b.memory);
    place_close(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flag_is_behind_its_data_where_that_is_promised),
        cmocka_unit_test(completions_tell_of_data_with_owner),
        cmocka_unit_test(what_is_on_its_way_is_pushed),
        cmocka_unit_test(data_of_a_read_is_on_its_way_too),
        cmocka_unit_test(the_last_write_of_a_byte_stays),
        cmocka_unit_test(memory_that_is_gone_has_no_key),
        cmocka_unit_test(memory_that_is_far_is_kept_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
