/* Digests of payload: of parts in any order as of the whole, and of other bytes
 * or of bytes in other places another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/hca/digest.h"
#include "sim/hca/piece.h"

enum { BYTES = 1000 };

static uint8_t memory[BYTES];

/* Of so many bytes from there on, which come behind `offset` of a message. */
static void add(struct mgds_hca_sum *sum, size_t at, size_t bytes,
                uint64_t offset)
{
    struct mgds_hca_list list;

    mgds_hca_list_init(&list);
    mgds_hca_list_add(&list, memory + at, bytes / 2);
    mgds_hca_list_add(&list, memory + at + bytes / 2, bytes - bytes / 2);
    mgds_hca_digest_add(sum, &list, offset);
}

static struct mgds_hca_sum whole(void)
{
    struct mgds_hca_sum sum = {0};

    add(&sum, 0, BYTES, 0);
    return sum;
}

static int fill(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = (uint8_t)(i * 7);
    return 0;
}

static void parts_are_as_the_whole(void **state)
{
    struct mgds_hca_sum sum = {0}, all = whole();

    (void)state;
    add(&sum, 600, 400, 600);
    add(&sum, 0, 1, 0);
    add(&sum, 1, 599, 1);
    assert_true(sum.sum == all.sum);
    assert_int_equal(sum.bytes, BYTES);
}

static void places_count(void **state)
{
    struct mgds_hca_sum sum = {0}, all = whole();

    (void)state;
    add(&sum, 0, 500, 500);
    add(&sum, 500, 500, 0);
    assert_true(sum.sum != all.sum);
    assert_int_equal(sum.bytes, BYTES);
}

static void every_byte_counts(void **state)
{
    struct mgds_hca_sum all = whole();

    (void)state;
    for (unsigned i = 0; i < BYTES; i++) {
        memory[i] ^= 1;
        assert_true(whole().sum != all.sum);
        memory[i] ^= 1;
    }
    assert_true(whole().sum == all.sum);
}

static void bytes_of_0_count(void **state)
{
    struct mgds_hca_sum one = {0}, two = {0};

    (void)state;
    memset(memory, 0, BYTES);
    add(&one, 0, 1, 0);
    add(&two, 0, 2, 0);
    assert_true(one.sum != 0 && one.sum != two.sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_as_the_whole),
        cmocka_unit_test(places_count),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(bytes_of_0_count),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
