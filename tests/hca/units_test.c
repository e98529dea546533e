/* What a program sees of payload while it comes: words of 8 bytes, whole and
 * from low addresses to high ones, as a PCIe write of several shows them. A
 * message in pieces of 16 bytes, each with its own number behind the data,
 * relies on that (device/kernels/ring.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "sim/hca/piece.h"

/* Up to a packet's worth, to places of a unit, from anywhere. */
enum { UNITS = 256, SHIFTS = 7, LAPS = 50000 };

struct unit {
    uint64_t data, word;
};

static _Alignas(4096) struct unit to[UNITS + SHIFTS];
static _Alignas(4096) uint8_t from[UNITS * sizeof(struct unit) + SHIFTS];
static bool stop; /* atomic */

static void copy_lap(uint64_t lap)
{
    unsigned units = 1 + (unsigned)(lap * 37 % UNITS);
    const struct unit unit = {lap, lap};
    uint8_t *source = from + lap % SHIFTS;
    struct mgds_hca_list in, out;

    for (unsigned i = 0; i < units; i++)
        memcpy(source + i * sizeof(unit), &unit, sizeof(unit));
    mgds_hca_list_one(&in, source, units * sizeof(unit));
    mgds_hca_list_one(&out, to + lap / SHIFTS % SHIFTS, units * sizeof(unit));
    mgds_hca_list_copy(&out, &in);
}

static void *copy_laps(void *arg)
{
    for (uint64_t lap = 1; lap <= LAPS; lap++)
        copy_lap(lap);
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    return arg;
}

/* The data may be of a later lap than the word, never of an earlier one. */
static unsigned count_torn(void)
{
    unsigned torn = 0;

    for (unsigned i = 0; i < UNITS + SHIFTS; i++) {
        uint64_t word = __atomic_load_n(&to[i].word, __ATOMIC_ACQUIRE);
        uint64_t data = __atomic_load_n(&to[i].data, __ATOMIC_RELAXED);

        torn += data < word;
    }
    return torn;
}

static void who_sees_a_word_has_what_lies_below_it(void **state)
{
    pthread_t copier;
    unsigned torn = 0;

    (void)state;
    assert_int_equal(pthread_create(&copier, NULL, copy_laps, NULL), 0);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        torn += count_torn();
    pthread_join(copier, NULL);
    assert_int_equal(torn, 0);
}

/* Any beginning and any length, beside each other. */
static void each_byte_goes_where_it_belongs(void **state)
{
    uint8_t *a = from, *b = (uint8_t *)to, expected[64];

    (void)state;
    for (size_t i = 0; i < 64; i++)
        a[i] = (uint8_t)(i + 1);
    for (size_t begin = 0; begin < 9; begin++)
        for (size_t bytes = 0; bytes < 40; bytes++) {
            struct mgds_hca_list in, out;

            memset(b, 0, 64);
            memset(expected, 0, sizeof(expected));
            memcpy(expected + begin, a + 5, bytes);
            mgds_hca_list_one(&in, a + 5, bytes);
            mgds_hca_list_one(&out, b + begin, bytes);
            mgds_hca_list_copy(&out, &in);
            assert_memory_equal(b, expected, sizeof(expected));
        }
}

/* Ahead and back, by less than the length. */
static void memory_may_overlap(void **state)
{
    uint8_t *at = (uint8_t *)to, expected[128];

    (void)state;
    for (int shift = -24; shift <= 24; shift++) {
        struct mgds_hca_list in, out;

        for (size_t i = 0; i < sizeof(expected); i++)
            at[i] = expected[i] = (uint8_t)(i * 3);
        memmove(expected + 32 + shift, expected + 32, 64);
        mgds_hca_list_one(&in, at + 32, 64);
        mgds_hca_list_one(&out, at + 32 + shift, 64);
        mgds_hca_list_copy(&out, &in);
        assert_memory_equal(at, expected, sizeof(expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sees_a_word_has_what_lies_below_it),
        cmocka_unit_test(each_byte_goes_where_it_belongs),
        cmocka_unit_test(memory_may_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
