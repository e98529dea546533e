/* Packing by the CPU: the bytes are right, and what lies in one piece is copied
 * as one, however many elements it has. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/mem/hostcopy.h"
#include "shim/gds/mem/layout.h"

enum { COUNT = 5000, BYTES = 7, EXTENT = 9 };

/* Elements that were walked over. */
static unsigned walks;

int __real_mgds_layout_walk(
    const struct mgds_layout *layout, size_t first, size_t bytes,
    int (*visit)(void *arg, const struct mgds_span *span, size_t packed),
    void *arg);
int __wrap_mgds_layout_walk(
    const struct mgds_layout *layout, size_t first, size_t bytes,
    int (*visit)(void *arg, const struct mgds_span *span, size_t packed),
    void *arg);

int __wrap_mgds_layout_walk(
    const struct mgds_layout *layout, size_t first, size_t bytes,
    int (*visit)(void *arg, const struct mgds_span *span, size_t packed),
    void *arg)
{
    walks++;
    return __real_mgds_layout_walk(layout, first, bytes, visit, arg);
}

static char value_of(size_t byte)
{
    return (char)(1 + byte % 101);
}

/* The element's bytes begin so many bytes behind it. */
struct kind {
    size_t bytes, extent;
    ptrdiff_t at;
    unsigned walks; /* for COUNT of them */
};

static struct mgds_layout *layout_of(const struct kind *kind)
{
    const size_t one = 1;
    struct mgds_layout *bytes, *placed, *layout;

    assert_int_equal(mgds_layout_bytes(&bytes, kind->bytes, kind->bytes), 0);
    assert_int_equal(mgds_layout_hindexed(&placed, bytes, 1, &one, &kind->at),
                     0);
    assert_int_equal(
        mgds_layout_resized(&layout, placed, 0, (ptrdiff_t)kind->extent), 0);
    mgds_layout_put(bytes);
    mgds_layout_put(placed);
    return layout;
}

/* Of the packed byte, in the buffer. */
static size_t place_of(const struct kind *kind, size_t byte)
{
    return byte / kind->bytes * kind->extent + (size_t)kind->at +
           byte % kind->bytes;
}

static char user[(COUNT + 1) * EXTENT], row[COUNT * BYTES + 1];

/* A message may be shorter than its buffer. */
static void pack_and_unpack(const struct kind *kind, size_t bytes)
{
    struct mgds_layout *layout = layout_of(kind);
    const struct mgds_buffer buffer = {
        .addr = user, .count = COUNT, .layout = layout};

    for (size_t i = 0; i < sizeof(user); i++)
        user[i] = value_of(i);
    memset(row, 0, sizeof(row));
    mgds_host_pack(row, &buffer, bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(row[i], value_of(place_of(kind, i)));
    assert_int_equal(row[bytes], 0);
    memset(user, 0, sizeof(user));
    mgds_host_unpack(&buffer, row, bytes);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(user[place_of(kind, i)], row[i]);
        user[place_of(kind, i)] = 0;
    }
    for (size_t i = 0; i < sizeof(user); i++)
        assert_int_equal(user[i], 0);
    mgds_layout_put(layout);
}

static void all_of_it(void **state)
{
    static const struct kind kinds[] = {{1, 1, 0, 0},
                                        {BYTES, BYTES, 0, 0},
                                        {BYTES, BYTES, 2, 0},
                                        {BYTES, EXTENT, 1, COUNT}};

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        walks = 0;
        pack_and_unpack(&kinds[i], COUNT * kinds[i].bytes);
        assert_int_equal(walks, 2 * kinds[i].walks);
    }
}

static void a_part(void **state)
{
    static const struct kind piece = {BYTES, BYTES, 0, 0};
    static const struct kind gaps = {BYTES, EXTENT, 1, 0};

    (void)state;
    for (size_t bytes = 0; bytes < (size_t)3 * BYTES; bytes++) {
        pack_and_unpack(&piece, bytes);
        pack_and_unpack(&gaps, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_it),
                                       cmocka_unit_test(a_part)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
