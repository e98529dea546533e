/* The book of places against a drawing of the region: each unit knows whose it
 * is, so nothing is ever given twice, and no room is refused that there is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "shim/gds/proto/place.h"
#include "tests/lib/fault_sweep.h"

enum { UNITS = 64, STEPS = 4000, MOST = 1 << 18 };

static const uint64_t FIRST = UINT64_C(1) << 61;

struct span {
    uint32_t at, units;
    uint64_t serial;
    bool back;
};

/* Spans from the oldest that has not made room, in the order they went. */
struct drawing {
    struct mgds_places places;
    struct span span[UNITS];
    uint32_t units, count, end;
    uint64_t next;
};

static void open_drawing(struct drawing *d, uint32_t units)
{
    *d = (struct drawing){.units = units, .next = FIRST};
    assert_true(units <= UNITS);
    assert_int_equal(mgds_places_init(&d->places, units, FIRST), 0);
}

static bool is_held(const struct drawing *d, uint32_t unit)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (unit - d->span[i].at < d->span[i].units)
            return true;
    return false;
}

static uint32_t free_from(const struct drawing *d, uint32_t at)
{
    uint32_t n = 0;

    while (at + n < d->units && !is_held(d, at + n))
        n++;
    return n;
}

/* The rule: behind the last one, else from the beginning; with nothing out
 * from the beginning. */
static int where(const struct drawing *d, uint32_t units)
{
    uint32_t end = d->count > 0 ? d->end : 0;

    if (units <= free_from(d, end))
        return (int)end;
    return units <= free_from(d, 0) ? 0 : -ENOSPC;
}

/* Takes as the rule says; whether there was room. */
static bool take(struct drawing *d, uint32_t units)
{
    struct span span = {.units = units};
    int want = where(d, units);
    int rc = mgds_places_take(&d->places, units, &span.at, &span.serial);

    if (want < 0) {
        assert_int_equal(rc, want);
        return false;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(span.at, want);
    assert_true(span.serial == d->next);
    d->next++;
    d->end = span.at + units;
    d->span[d->count++] = span;
    return true;
}

static void drop_oldest(struct drawing *d)
{
    uint32_t gone = 0;

    while (gone < d->count && d->span[gone].back)
        gone++;
    d->count -= gone;
    for (uint32_t i = 0; i < d->count; i++)
        d->span[i] = d->span[i + gone];
}

/* The n-th of those that are out gives its place back. */
static void give(struct drawing *d, uint32_t n)
{
    uint32_t i = 0;

    while (d->span[i].back || n-- > 0)
        i++;
    d->span[i].back = true;
    assert_int_equal(mgds_places_give(&d->places, d->span[i].serial), 0);
    drop_oldest(d);
    assert_true(mgds_places_out(&d->places) == d->count);
}

static uint32_t out(const struct drawing *d)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->count; i++)
        n += !d->span[i].back;
    return n;
}

/* All come back, in any order; then the whole region can be had at once. */
static void close_drawing(struct drawing *d, unsigned *seed)
{
    uint32_t n;

    while ((n = out(d)) > 0)
        give(d, (uint32_t)rand_r(seed) % n);
    assert_int_equal(d->count, 0);
    assert_true(take(d, d->units));
    assert_false(take(d, 1));
    give(d, 0);
    mgds_places_fini(&d->places);
}

/* Which one gives: always the oldest, always the youngest, or any. */
enum order { OLDEST, YOUNGEST, ANY, ORDERS };

static uint32_t pick(enum order order, uint32_t n, unsigned *seed)
{
    if (order == OLDEST)
        return 0;
    return order == YOUNGEST ? n - 1 : (uint32_t)rand_r(seed) % n;
}

struct program {
    uint32_t units, most; /* of the region; of a message */
    enum order order;
    unsigned gives; /* of 8 steps */
};

static unsigned play(const struct program *program, unsigned *seed)
{
    unsigned refused = 0;
    struct drawing d;

    open_drawing(&d, program->units);
    for (int i = 0; i < STEPS; i++) {
        uint32_t n = out(&d);

        if (n > 0 && (unsigned)rand_r(seed) % 8 < program->gives)
            give(&d, pick(program->order, n, seed));
        else
            refused += !take(&d, 1 + (uint32_t)rand_r(seed) % program->most);
    }
    close_drawing(&d, seed);
    return refused;
}

static void places_never_meet_whatever_is_taken_and_given(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 16, 61, UNITS};
    unsigned seed = 5, refused = 0;

    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (unsigned order = 0; order < ORDERS; order++)
            for (unsigned gives = 2; gives < 7; gives += 2) {
                struct program small = {sizes[s], (sizes[s] + 3) / 4,
                                        (enum order)order, gives};
                struct program any = small;

                any.most = sizes[s];
                refused += play(&small, &seed) + play(&any, &seed);
            }
    assert_true(refused > 0);
}

static void full_region_refuses_until_the_oldest_is_back(void **state)
{
    unsigned seed = 1;
    struct drawing d;

    (void)state;
    open_drawing(&d, 8);
    for (int i = 0; i < 8; i++)
        assert_true(take(&d, 1));
    for (uint32_t i = 7; i > 0; i--) {
        give(&d, i);
        assert_false(take(&d, 1));
    }
    give(&d, 0);
    assert_true(take(&d, 8));
    close_drawing(&d, &seed);
}

static void place_never_lies_around_the_end(void **state)
{
    unsigned seed = 1;
    struct drawing d;

    (void)state;
    open_drawing(&d, 8);
    assert_true(take(&d, 3));
    assert_true(take(&d, 3)); /* 2 are left at the end */
    give(&d, 0);
    assert_true(take(&d, 3)); /* at the beginning: the end is left out */
    assert_int_equal(d.span[1].at, 0);
    assert_false(take(&d, 1)); /* up to the oldest: full */
    give(&d, 0);
    assert_true(take(&d, 5)); /* behind it, all the rest */
    close_drawing(&d, &seed);
}

static void message_larger_than_the_region_has_no_place(void **state)
{
    struct mgds_places places;
    uint32_t at;
    uint64_t serial;

    (void)state;
    assert_int_equal(mgds_places_init(&places, 8, FIRST), 0);
    assert_int_equal(mgds_places_take(&places, 9, &at, &serial), -ENOSPC);
    assert_int_equal(mgds_places_take(&places, UINT32_MAX, &at, &serial),
                     -ENOSPC);
    assert_int_equal(mgds_places_take(&places, 8, &at, &serial), 0);
    assert_int_equal(at, 0);
    assert_true(serial == FIRST);
    mgds_places_fini(&places);
}

static void serial_that_is_not_out_changes_nothing(void **state)
{
    const uint64_t wrong[] = {FIRST - 1,  FIRST,      FIRST + 2, FIRST + 4,
                              FIRST + 64, FIRST + 65, 0,         UINT64_MAX};
    unsigned seed = 1;
    struct drawing d;

    (void)state;
    open_drawing(&d, 8);
    for (int i = 0; i < 4; i++)
        assert_true(take(&d, 2));
    give(&d, 0);
    give(&d, 1); /* FIRST + 2, out of turn */
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(mgds_places_give(&d.places, wrong[i]), -EINVAL);
        assert_true(mgds_places_out(&d.places) == 3);
    }
    assert_true(take(&d, 2)); /* the room of the first, and no more */
    assert_false(take(&d, 1));
    close_drawing(&d, &seed);
}

/* Were a call to look at all places, this would not end within the limit of
 * the test. */
static void many_places_cost_no_more_each_than_few(void **state)
{
    struct mgds_places places;
    uint64_t serial;
    uint32_t at;

    (void)state;
    assert_int_equal(mgds_places_init(&places, MOST, 1), 0);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < MOST; i++)
            assert_int_equal(mgds_places_take(&places, 1, &at, &serial), 0);
        assert_int_equal(mgds_places_take(&places, 1, &at, &serial), -ENOSPC);
        for (uint32_t i = 0; i < MOST; i++)
            mgds_places_give(&places, serial - i); /* the oldest at last */
        assert_true(mgds_places_out(&places) == 0);
    }
    assert_true(serial == 3 * (uint64_t)MOST);
    assert_int_equal(places.capacity, MOST);
    mgds_places_fini(&places);
}

static void book_does_not_grow_with_time(void **state)
{
    struct mgds_places places;
    uint32_t at, capacity;
    uint64_t serial;

    (void)state;
    assert_int_equal(mgds_places_init(&places, UNITS, FIRST), 0);
    capacity = places.capacity;
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(mgds_places_take(&places, 3, &at, &serial), 0);
        if (i >= 10)
            mgds_places_give(&places, serial - 10);
    }
    assert_int_equal(places.capacity, capacity);
    mgds_places_fini(&places);
}

/* Takes until the book must grow; if it cannot, what is out stays as it is and
 * no serial is lost. */
static int grow_and_give(void *arg)
{
    struct mgds_places places;
    uint64_t serial, last = FIRST - 1;
    uint32_t at, taken = 0;
    int rc = mgds_places_init(&places, 1024, FIRST);

    (void)arg;
    if (rc < 0)
        return rc;
    while (taken < 1024) {
        int one = mgds_places_take(&places, 1, &at, &serial);

        assert_true(one == 0 || one == -ENOMEM);
        if (one < 0) {
            rc = one;
            continue; /* the next passage does not fail */
        }
        assert_int_equal(at, taken++);
        assert_true(serial == ++last);
    }
    for (uint64_t s = FIRST; s <= last; s++)
        mgds_places_give(&places, s);
    assert_true(mgds_places_out(&places) == 0);
    mgds_places_fini(&places);
    return rc;
}

static void book_that_cannot_grow_stays_whole(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, grow_and_give, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_never_meet_whatever_is_taken_and_given),
        cmocka_unit_test(full_region_refuses_until_the_oldest_is_back),
        cmocka_unit_test(place_never_lies_around_the_end),
        cmocka_unit_test(serial_that_is_not_out_changes_nothing),
        cmocka_unit_test(message_larger_than_the_region_has_no_place),
        cmocka_unit_test(many_places_cost_no_more_each_than_few),
        cmocka_unit_test(book_does_not_grow_with_time),
        cmocka_unit_test(book_that_cannot_grow_stays_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
