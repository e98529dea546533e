/* Headers of the header rendezvous: what is one, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/direct/header.h"

static const struct mgds_header_secret secret = {
    .cookie = {0x0123456789abcdef, 0xfedcba9876543210}, .key = {{1, 2}}};

static struct mgds_header a_header(void)
{
    struct mgds_header header = {.sender = 3,
                                 .receiver = 1,
                                 .source = 2,
                                 .tag = 77,
                                 .serial = 12,
                                 .bytes = 4096,
                                 .address = 0x7f0000001000,
                                 .slot = 9,
                                 .device = 1};

    header.memory.id = 5;
    header.memory.base = 0x7f0000000000;
    header.memory.size = 8192;
    memset(header.memory.name.bytes, 0x5a, sizeof(header.memory.name.bytes));
    return header;
}

static void what_was_encoded_comes_back(void **state)
{
    const struct mgds_header header = a_header();
    unsigned char bytes[MGDS_HEADER_BYTES];
    struct mgds_header back;

    (void)state;
    mgds_header_encode(bytes, &header, &secret);
    assert_true(mgds_header_decode(&back, bytes, &secret));
    assert_memory_equal(&back, &header, sizeof(header));
}

static void any_bit_changed_is_no_header(void **state)
{
    const struct mgds_header header = a_header();
    unsigned char bytes[MGDS_HEADER_BYTES];
    struct mgds_header back;

    (void)state;
    mgds_header_encode(bytes, &header, &secret);
    for (unsigned bit = 0; bit < 8 * MGDS_HEADER_BYTES; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_false(mgds_header_decode(&back, bytes, &secret));
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(mgds_header_decode(&back, bytes, &secret));
}

static void another_job_has_other_headers(void **state)
{
    const struct mgds_header header = a_header();
    unsigned char bytes[MGDS_HEADER_BYTES];
    struct mgds_header_secret other = secret;
    struct mgds_header back;

    (void)state;
    mgds_header_encode(bytes, &header, &secret);
    other.key.word[1]++;
    assert_false(mgds_header_decode(&back, bytes, &other));
    other = secret;
    other.cookie[0]++;
    assert_false(mgds_header_decode(&back, bytes, &other));
}

static bool holds(const struct mgds_header *header)
{
    unsigned char bytes[MGDS_HEADER_BYTES];
    struct mgds_header back;

    mgds_header_encode(bytes, header, &secret);
    return mgds_header_decode(&back, bytes, &secret);
}

static void bytes_lie_in_the_memory_named(void **state)
{
    struct mgds_header header = a_header();

    (void)state;
    header.address = header.memory.base + 4096;
    assert_true(holds(&header));
    header.address++;
    assert_false(holds(&header));
    header.address = header.memory.base - 1;
    assert_false(holds(&header));
    header = a_header();
    header.bytes = UINT64_MAX;
    assert_false(holds(&header));
    header.bytes = MGDS_HEADER_BYTES - 1;
    assert_false(holds(&header));
    header.bytes = MGDS_HEADER_BYTES;
    assert_true(holds(&header));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_encoded_comes_back),
        cmocka_unit_test(any_bit_changed_is_no_header),
        cmocka_unit_test(another_job_has_other_headers),
        cmocka_unit_test(bytes_lie_in_the_memory_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
