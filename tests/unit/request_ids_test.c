/* The table behind request IDs against the rule: a request ID finds its own
 * record, as long as that is in, and nothing else ever does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "shim/gds/msg/request_ids.h"
#include "tests/lib/fault_sweep.h"

enum { RECORDS = 300, STEPS = 200000, PAST = 4096 };

static void a_request_id_finds_its_record(void **state)
{
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t request_id[RECORDS];
    int record[RECORDS];

    (void)state;
    for (int i = 0; i < RECORDS; i++)
        assert_int_equal(
            mgds_request_ids_put(&request_ids, &record[i], &request_id[i]), 0);
    for (int i = 0; i < RECORDS; i++) {
        assert_true(request_id[i] != 0);
        assert_ptr_equal(mgds_request_ids_find(&request_ids, request_id[i]),
                         &record[i]);
    }
    mgds_request_ids_fini(&request_ids);
    for (int i = 0; i < RECORDS; i++)
        assert_null(mgds_request_ids_find(&request_ids, request_id[i]));
}

static void what_was_made_up_finds_nothing(void **state)
{
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t made_up[] = {0,
                          2,
                          63,
                          64,
                          65,
                          UINT32_MAX,
                          UINT64_MAX,
                          UINT64_C(1) << 32,
                          (UINT64_C(1) << 32) + 1,
                          (UINT64_C(1) << 63) + 1,
                          (uintptr_t)&request_ids};
    uint64_t request_id;

    (void)state;
    assert_null(
        mgds_request_ids_find(&request_ids, 1)); /* of an empty one, too */
    assert_int_equal(
        mgds_request_ids_put(&request_ids, &request_id, &request_id), 0);
    for (unsigned i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
        assert_null(mgds_request_ids_find(&request_ids, made_up[i]));
        mgds_request_ids_remove(&request_ids, made_up[i], &request_id);
    }
    assert_ptr_equal(mgds_request_ids_find(&request_ids, request_id),
                     &request_id);
    mgds_request_ids_fini(&request_ids);
}

static void a_record_goes_only_by_its_own_request_id(void **state)
{
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t a, b, again;

    (void)state;
    assert_int_equal(mgds_request_ids_put(&request_ids, &a, &a), 0);
    assert_int_equal(mgds_request_ids_put(&request_ids, &b, &b), 0);
    mgds_request_ids_remove(&request_ids, a, &b);
    assert_ptr_equal(mgds_request_ids_find(&request_ids, a), &a);
    mgds_request_ids_remove(&request_ids, a, &a);
    assert_null(mgds_request_ids_find(&request_ids, a));
    mgds_request_ids_remove(&request_ids, a, &a); /* again: nothing */
    mgds_request_ids_remove(&request_ids, a, NULL);
    assert_int_equal(mgds_request_ids_put(&request_ids, &again, &again), 0);
    assert_true(again != a && again != b);
    assert_null(mgds_request_ids_find(&request_ids, a));
    mgds_request_ids_remove(&request_ids, a, &a);
    assert_ptr_equal(mgds_request_ids_find(&request_ids, again), &again);
    assert_ptr_equal(mgds_request_ids_find(&request_ids, b), &b);
    mgds_request_ids_fini(&request_ids);
}

struct campaign {
    struct mgds_request_ids request_ids;
    uint64_t in[RECORDS]; /* by record; 0: it is not in */
    char record[RECORDS];
    uint64_t past[PAST]; /* request IDs of records that went */
    unsigned pasts;
};

static void flip(struct campaign *c, unsigned i)
{
    if (!c->in[i]) {
        assert_int_equal(
            mgds_request_ids_put(&c->request_ids, &c->record[i], &c->in[i]), 0);
        return;
    }
    assert_ptr_equal(mgds_request_ids_find(&c->request_ids, c->in[i]),
                     &c->record[i]);
    mgds_request_ids_remove(&c->request_ids, c->in[i], &c->record[i]);
    c->past[c->pasts++ % PAST] = c->in[i];
    c->in[i] = 0;
}

static void records_come_and_go(void **state)
{
    struct campaign *c = (struct campaign *)calloc(1, sizeof(*c));
    uint32_t random = 1;

    (void)state;
    assert_non_null(c);
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        flip(c, (random >> 8) % RECORDS);
        assert_null(
            mgds_request_ids_find(&c->request_ids, c->past[random % PAST]));
    }
    for (unsigned i = 0; i < RECORDS; i++)
        assert_ptr_equal(mgds_request_ids_find(&c->request_ids, c->in[i]),
                         c->in[i] ? &c->record[i] : NULL);
    assert_true(c->request_ids.records.room <=
                1024); /* twice as many as were in at once */
    mgds_request_ids_fini(&c->request_ids);
    free(c);
}

/* So many bits of 64 that two request IDs share: of those that stand side by
 * side in a table no more than of others. */
static void request_ids_cannot_be_told_from_random_numbers(void **state)
{
    enum { DRAWN = 4096 };
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t request_id = 0, before = 0;
    unsigned changed = 0;
    char record;

    (void)state;
    for (unsigned i = 0; i < DRAWN; i++) {
        assert_int_equal(
            mgds_request_ids_put(&request_ids, &record, &request_id), 0);
        changed += (unsigned)__builtin_popcountll(request_id ^ before);
        before = request_id;
        mgds_request_ids_remove(&request_ids, request_id, &record);
    }
    /* half of them; eight times the standard deviation of the sum */
    assert_in_range(changed, 32 * DRAWN - 32 * 64, 32 * DRAWN + 32 * 64);
    mgds_request_ids_fini(&request_ids);
}

static void no_two_tables_draw_the_same(void **state)
{
    struct mgds_request_ids request_ids[2] = {{.serial = 0}, {.serial = 0}};
    uint64_t request_id[2];

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            mgds_request_ids_put(&request_ids[i], &request_id, &request_id[i]),
            0);
    assert_true(request_id[0] != request_id[1]);
    for (unsigned i = 0; i < 2; i++)
        mgds_request_ids_fini(&request_ids[i]);
}

/* After 2^64 of them. */
static void the_serial_may_wrap(void **state)
{
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t request_id[RECORDS];
    int record[RECORDS];

    (void)state;
    assert_int_equal(
        mgds_request_ids_put(&request_ids, &record[0], &request_id[0]), 0);
    request_ids.serial = UINT64_MAX - RECORDS / 2;
    for (int i = 1; i < RECORDS; i++)
        assert_int_equal(
            mgds_request_ids_put(&request_ids, &record[i], &request_id[i]), 0);
    assert_true(request_ids.serial < RECORDS);
    for (int i = 0; i < RECORDS; i++)
        assert_ptr_equal(mgds_request_ids_find(&request_ids, request_id[i]),
                         &record[i]);
    mgds_request_ids_fini(&request_ids);
}

/* Nothing has changed when memory is short. */
static int fill(void *arg)
{
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t request_id[RECORDS];
    int n = 0, rc = 0;

    (void)arg;
    while (n < RECORDS && rc == 0) {
        rc = mgds_request_ids_put(&request_ids, &request_id[n], &request_id[n]);
        n += rc == 0;
    }
    for (int i = 0; i < n; i++)
        assert_ptr_equal(mgds_request_ids_find(&request_ids, request_id[i]),
                         &request_id[i]);
    mgds_request_ids_fini(&request_ids);
    assert_true(rc == 0 || rc == -ENOMEM);
    return rc;
}

static void short_memory_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, fill, NULL), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_id_finds_its_record),
        cmocka_unit_test(what_was_made_up_finds_nothing),
        cmocka_unit_test(a_record_goes_only_by_its_own_request_id),
        cmocka_unit_test(records_come_and_go),
        cmocka_unit_test(request_ids_cannot_be_told_from_random_numbers),
        cmocka_unit_test(no_two_tables_draw_the_same),
        cmocka_unit_test(the_serial_may_wrap),
        cmocka_unit_test(short_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
