/* Layouts against a reference that spells every byte out, and the forms that
 * copies depend on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/mem/layout.h"
#include "tests/lib/fault_sweep.h"

/* The naive form of a type: the address of each byte in typemap order. */
struct typemap {
    size_t size, room;
    ptrdiff_t *byte;
    bool marked, any;
    ptrdiff_t lb, ub;
};

/* A type in both forms. */
struct type {
    struct mgds_layout *layout;
    struct typemap map;
};

enum { MOST_BYTES = 6000, MOST_MEMBERS = 6, TYPES = 6000 };

static uint64_t seed;

static unsigned pick(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static ptrdiff_t pick_signed(int range)
{
    return (ptrdiff_t)pick(2 * (unsigned)range + 1) - range;
}

static void map_mark(struct typemap *map, const struct typemap *member,
                     ptrdiff_t offset)
{
    ptrdiff_t lb = member->lb + offset, ub = member->ub + offset;
    bool first = !map->any || (member->marked && !map->marked);

    if (!member->any || (map->marked && !member->marked))
        return;
    map->lb = first || lb < map->lb ? lb : map->lb;
    map->ub = first || ub > map->ub ? ub : map->ub;
    map->any = true;
    map->marked = member->marked;
}

static void map_add(struct typemap *map, const struct typemap *member,
                    ptrdiff_t offset)
{
    if (map->size + member->size > map->room) {
        map->room = 2 * (map->size + member->size);
        map->byte =
            (ptrdiff_t *)realloc(map->byte, map->room * sizeof(*map->byte));
        assert_non_null(map->byte);
    }
    for (size_t i = 0; i < member->size; i++)
        map->byte[map->size++] = member->byte[i] + offset;
    map_mark(map, member, offset);
}

static void map_add_block(struct typemap *map, const struct typemap *member,
                          size_t count, ptrdiff_t offset)
{
    for (size_t i = 0; i < count; i++)
        map_add(map, member, offset + (ptrdiff_t)i * (member->ub - member->lb));
}

static void free_type(struct type *type)
{
    mgds_layout_put(type->layout);
    free(type->map.byte);
}

static struct type basic(size_t size, size_t extent)
{
    struct type type = {0};
    const ptrdiff_t at = 0;

    assert_int_equal(mgds_layout_bytes(&type.layout, size, extent), 0);
    for (size_t i = 0; i < size; i++)
        map_add(&type.map,
                &(struct typemap){.size = 1, .byte = (ptrdiff_t *)(void *)&at},
                (ptrdiff_t)i);
    type.map.any = size > 0;
    type.map.ub = size > 0 ? (ptrdiff_t)extent : 0;
    return type;
}

static struct type make_contiguous(const struct type *child)
{
    struct type type = {0};
    size_t count = pick(5);

    assert_int_equal(mgds_layout_contiguous(&type.layout, child->layout, count),
                     0);
    map_add_block(&type.map, &child->map, count, 0);
    return type;
}

static struct type make_hvector(const struct type *child)
{
    struct type type = {0};
    size_t count = pick(6), blocklength = pick(4);
    ptrdiff_t extent = child->map.ub - child->map.lb;
    ptrdiff_t stride = pick(2) ? extent * pick_signed(4) : pick_signed(200);

    assert_int_equal(mgds_layout_hvector(&type.layout, child->layout, count,
                                         blocklength, stride),
                     0);
    for (size_t i = 0; i < count; i++)
        map_add_block(&type.map, &child->map, blocklength,
                      (ptrdiff_t)i * stride);
    return type;
}

static void pick_members(size_t count, size_t blocklength[],
                         ptrdiff_t displacement[], ptrdiff_t extent)
{
    size_t block = pick(4);
    bool equal = pick(2), regular = pick(2);
    ptrdiff_t step = pick_signed(4) * (extent ? extent : 1);

    for (size_t i = 0; i < count; i++) {
        blocklength[i] = equal ? block : pick(4);
        displacement[i] = regular ? (ptrdiff_t)i * step : pick_signed(300);
    }
}

static struct type make_hindexed(const struct type *child)
{
    struct type type = {0};
    size_t count = pick(MOST_MEMBERS + 1), blocklength[MOST_MEMBERS];
    ptrdiff_t displacement[MOST_MEMBERS];

    pick_members(count, blocklength, displacement,
                 child->map.ub - child->map.lb);
    assert_int_equal(mgds_layout_hindexed(&type.layout, child->layout, count,
                                          blocklength, displacement),
                     0);
    for (size_t i = 0; i < count; i++)
        map_add_block(&type.map, &child->map, blocklength[i], displacement[i]);
    return type;
}

static struct type make_struct(const struct type pool[], unsigned types)
{
    struct type type = {0};
    size_t count = pick(MOST_MEMBERS + 1), blocklength[MOST_MEMBERS];
    ptrdiff_t displacement[MOST_MEMBERS];
    struct mgds_layout *child[MOST_MEMBERS];
    ptrdiff_t absolute = pick(4) ? 0 : (ptrdiff_t)0x7f1234567000;

    pick_members(count, blocklength, displacement, 64);
    for (size_t i = 0; i < count; i++) {
        const struct type *member = &pool[pick(types)];

        child[i] = member->layout;
        displacement[i] += absolute;
        map_add_block(&type.map, &member->map, blocklength[i], displacement[i]);
    }
    assert_int_equal(mgds_layout_struct(&type.layout, count, blocklength,
                                        displacement, child),
                     0);
    return type;
}

static struct type make_resized(const struct type *child)
{
    struct type type = {0};
    ptrdiff_t lb = pick_signed(50), extent = pick_signed(150);

    assert_int_equal(
        mgds_layout_resized(&type.layout, child->layout, lb, extent), 0);
    map_add(&type.map, &child->map, 0);
    type.map.any = true;
    type.map.marked = true;
    type.map.lb = lb;
    type.map.ub = lb + extent;
    return type;
}

static struct type make_any(const struct type pool[], unsigned types)
{
    const struct type *child = &pool[pick(types)];

    switch (pick(6)) {
    case 0:
        return make_contiguous(child);
    case 1:
    case 2:
        return make_hvector(child);
    case 3:
        return make_hindexed(child);
    case 4:
        return make_struct(pool, types);
    default:
        return make_resized(child);
    }
}

/* What a walk must give, byte by byte. */
struct expect {
    const struct typemap *map;
    size_t next, spans;
};

static int visit(void *arg, const struct mgds_span *span, size_t packed)
{
    struct expect *expect = (struct expect *)arg;

    assert_int_equal(packed, expect->next);
    for (size_t plane = 0; plane < span->planes; plane++) {
        for (size_t row = 0; row < span->rows; row++) {
            ptrdiff_t at = span->offset + (ptrdiff_t)plane * span->slice +
                           (ptrdiff_t)row * span->pitch;

            for (size_t i = 0; i < span->width; i++)
                assert_int_equal(at + (ptrdiff_t)i,
                                 expect->map->byte[expect->next++]);
        }
    }
    expect->spans++;
    return 0;
}

static void check_walk(const struct type *type, size_t first, size_t bytes)
{
    size_t size = type->map.size;
    size_t end = first > size           ? first
                 : bytes > size - first ? size
                                        : first + bytes;
    struct expect expect = {&type->map, first, 0};

    assert_int_equal(
        mgds_layout_walk(type->layout, first, bytes, visit, &expect), 0);
    assert_int_equal(expect.next, end);
    if (first == 0 && end == size)
        assert_int_equal(expect.spans, type->layout->spans);
    else
        assert_true(expect.spans <= type->layout->spans + 4);
}

static void check_bounds(const struct type *type)
{
    const struct mgds_layout *layout = type->layout;
    const struct typemap *map = &type->map;
    ptrdiff_t low = 0, high = 0;

    for (size_t i = 0; i < map->size; i++) {
        low = i == 0 || map->byte[i] < low ? map->byte[i] : low;
        high = i == 0 || map->byte[i] >= high ? map->byte[i] + 1 : high;
    }
    assert_int_equal(layout->size, map->size);
    assert_int_equal(layout->true_lb, low);
    assert_int_equal(layout->true_extent, high - low);
    assert_int_equal(layout->lb, map->lb);
    assert_int_equal(layout->extent, map->ub - map->lb);
}

static void check_type(const struct type *type)
{
    check_bounds(type);
    check_walk(type, 0, SIZE_MAX);
    for (int i = 0; i < 4; i++)
        check_walk(type, pick((unsigned)type->map.size + 2),
                   pick((unsigned)type->map.size + 2));
}

static void check_repeated(const struct type *type)
{
    size_t count = pick(7);
    struct type many = {0};

    map_add_block(&many.map, &type->map, count, 0);
    assert_int_equal(mgds_layout_repeat(&many.layout, type->layout, count), 0);
    check_type(&many);
    free_type(&many);
}

static void random_types_are_walked_as_their_typemaps_say(void **state)
{
    enum { POOL = 24, BASICS = 4 };
    static struct type pool[POOL];
    unsigned types = BASICS;

    (void)state;
    pool[0] = basic(1, 1);
    pool[1] = basic(4, 4);
    pool[2] = basic(6, 8);
    pool[3] = basic(0, 0);
    seed = 4711;
    for (int i = 0; i < TYPES; i++) {
        struct type type = make_any(pool, types);
        unsigned slot = types;

        check_type(&type);
        check_repeated(&type);
        if (types == POOL)
            slot = BASICS + pick(POOL - BASICS);
        if (type.map.size > MOST_BYTES / MOST_MEMBERS / 4) {
            free_type(&type);
            continue;
        }
        if (types == POOL)
            free_type(&pool[slot]);
        else
            types++;
        pool[slot] = type;
    }
    assert_int_equal(types, POOL);
    while (types > 0)
        free_type(&pool[--types]);
}

static struct mgds_layout *bytes(size_t size)
{
    struct mgds_layout *layout;

    assert_int_equal(mgds_layout_bytes(&layout, size, size), 0);
    return layout;
}

static struct mgds_layout *hvector_of(struct mgds_layout *child, size_t count,
                                      size_t blocklength, ptrdiff_t stride)
{
    struct mgds_layout *layout;

    assert_int_equal(
        mgds_layout_hvector(&layout, child, count, blocklength, stride), 0);
    mgds_layout_put(child);
    return layout;
}

/* Where messages may end: at whole elements, if there are gaps. */
static void test_unit(void **state)
{
    static const size_t once[2] = {1, 1};
    static const ptrdiff_t at[2] = {0, 16};
    struct mgds_layout *dense = bytes(8),
                       *gaps = hvector_of(bytes(8), 3, 1, 16);
    struct mgds_layout *const pair[2] = {gaps, dense};
    struct mgds_layout *four = bytes(4), *none = bytes(0), *mixed, *resized;
    struct mgds_layout *const three[2] = {four, dense};

    (void)state;
    assert_int_equal(gaps->unit, 8);
    assert_true(mgds_layout_tears(gaps, 7) && mgds_layout_tears(gaps, 12));
    assert_false(mgds_layout_tears(gaps, 0) || mgds_layout_tears(gaps, 16));
    assert_false(mgds_layout_tears(dense, 7));
    assert_int_equal(mgds_layout_resized(&resized, gaps, 0, 100), 0);
    assert_int_equal(resized->unit, 8);
    assert_int_equal(mgds_layout_struct(&mixed, 2, once, at, three), 0);
    assert_int_equal(mixed->unit, 4);
    mgds_layout_put(mixed);
    assert_int_equal(mgds_layout_struct(&mixed, 2, once, at, pair), 0);
    assert_int_equal(mixed->unit, 8);
    mgds_layout_put(mixed);
    assert_int_equal(none->unit, 0);
    assert_false(mgds_layout_tears(none, 1));
    mgds_layout_put(resized);
    mgds_layout_put(none);
    mgds_layout_put(four);
    mgds_layout_put(gaps);
    mgds_layout_put(dense);
}

static void assert_span(const struct mgds_layout *layout, size_t width,
                        size_t rows, size_t planes)
{
    assert_int_equal(layout->kind, MGDS_LAYOUT_SPAN);
    assert_int_equal(layout->spans, 1);
    assert_int_equal(layout->span.width, width);
    assert_int_equal(layout->span.rows, rows);
    assert_int_equal(layout->span.planes, planes);
}

/* Where the bytes of count elements begin, or -1: there are gaps. */
static ptrdiff_t piece_of(const struct mgds_layout *layout, size_t count)
{
    ptrdiff_t offset = -1;

    return mgds_layout_is_piece(layout, count, &offset) ? offset : -1;
}

static void regular_types_are_one_span(void **state)
{
    struct mgds_layout *layout = hvector_of(bytes(8), 10, 3, 24);

    (void)state;
    assert_span(layout, 240, 1, 1);
    assert_true(mgds_layout_is_dense(layout));
    assert_int_equal(piece_of(layout, 1), 0);
    assert_int_equal(piece_of(layout, 7), 0);
    mgds_layout_put(layout);
    layout = hvector_of(bytes(8), 10, 2, 40);
    assert_span(layout, 16, 10, 1);
    assert_false(mgds_layout_is_dense(layout));
    assert_int_equal(piece_of(layout, 1), -1);
    layout = hvector_of(layout, 6, 1, 1000);
    assert_span(layout, 16, 10, 6);
    layout = hvector_of(layout, 6, 1, 6000);
    assert_span(layout, 16, 10, 36);
    mgds_layout_put(layout);
}

static struct mgds_layout *
indexed_of(size_t count, const ptrdiff_t displacement[], size_t size)
{
    struct mgds_layout *layout, *child = bytes(size);
    size_t *blocklength = (size_t *)calloc(count, sizeof(*blocklength));

    assert_non_null(blocklength);
    for (size_t i = 0; i < count; i++)
        blocklength[i] = 1;
    assert_int_equal(
        mgds_layout_hindexed(&layout, child, count, blocklength, displacement),
        0);
    mgds_layout_put(child);
    free(blocklength);
    return layout;
}

static void one_piece_may_begin_anywhere_and_be_followed_by_a_gap(void **state)
{
    const ptrdiff_t behind[] = {24, 32}, apart[] = {0, 24};
    struct mgds_layout *layout = indexed_of(2, behind, 8), *resized;

    (void)state;
    assert_int_equal(piece_of(layout, 1), 24);
    assert_int_equal(piece_of(layout, 3), 24);
    assert_false(mgds_layout_is_dense(layout));
    assert_int_equal(mgds_layout_resized(&resized, layout, 0, 64), 0);
    assert_int_equal(piece_of(resized, 1), 24);
    assert_int_equal(piece_of(resized, 2), -1);
    mgds_layout_put(resized);
    mgds_layout_put(layout);
    layout = indexed_of(2, apart, 8);
    assert_int_equal(piece_of(layout, 1), -1);
    mgds_layout_put(layout);
    layout = bytes(0);
    assert_int_equal(piece_of(layout, 1), -1);
    mgds_layout_put(layout);
}

static void indexed_types_are_joined_where_they_are_regular(void **state)
{
    const ptrdiff_t touching[] = {0, 8, 16, 24};
    const ptrdiff_t regular[] = {0, 100, 200, 300};
    const ptrdiff_t cube[] = {0, 20, 100, 120, 200, 220};
    const ptrdiff_t late[] = {500, 0, 100, 200, 300};
    struct mgds_layout *layout = indexed_of(4, touching, 8);

    (void)state;
    assert_span(layout, 32, 1, 1);
    mgds_layout_put(layout);
    layout = indexed_of(4, regular, 8);
    assert_span(layout, 8, 4, 1);
    mgds_layout_put(layout);
    layout = indexed_of(6, cube, 8);
    assert_span(layout, 8, 2, 3);
    mgds_layout_put(layout);
    layout = indexed_of(5, late, 8);
    assert_int_equal(layout->spans, 2);
    mgds_layout_put(layout);
}

static void memory_does_not_grow_with_counts(void **state)
{
    const ptrdiff_t irregular[] = {0, 17, 90, 91, 300, 777};
    struct mgds_layout *layout = indexed_of(6, irregular, 1), *again;

    (void)state;
    layout = hvector_of(layout, 1 << 20, 3, 100000);
    layout = hvector_of(layout, 1 << 10, 1, (ptrdiff_t)1 << 40);
    assert_int_equal(layout->kind, MGDS_LAYOUT_REPEAT);
    assert_int_equal(layout->size, (size_t)18 << 30);
    assert_int_equal(mgds_layout_repeat(&again, layout, 1), 0);
    assert_ptr_equal(again, layout);
    mgds_layout_put(again);
    mgds_layout_put(layout);
}

static void sizes_and_addresses_beyond_64_bits_are_refused(void **state)
{
    struct mgds_layout *child = bytes(1 << 20), *out = NULL;
    const size_t blocklength[] = {1, 1};
    const ptrdiff_t apart[] = {PTRDIFF_MIN / 2 - 1, PTRDIFF_MAX / 2};

    (void)state;
    assert_int_equal(mgds_layout_contiguous(&out, child, SIZE_MAX / 2),
                     -EOVERFLOW);
    assert_int_equal(mgds_layout_hvector(&out, child, 3, 1, PTRDIFF_MAX / 2),
                     -EOVERFLOW);
    assert_int_equal(mgds_layout_hindexed(&out, child, 2, blocklength, apart),
                     -EOVERFLOW);
    assert_int_equal(mgds_layout_resized(&out, child, PTRDIFF_MAX, 1),
                     -EOVERFLOW);
    assert_null(out);
    mgds_layout_put(child);
}

static int make_nested(void *arg)
{
    const size_t blocklength[] = {1, 2, 1, 3, 1};
    const ptrdiff_t displacement[] = {0, 17, 99, 123, 400};
    struct mgds_layout *child, *indexed, *vector, *all = NULL;
    int rc = mgds_layout_bytes(&child, 4, 4);

    (void)arg;
    if (rc < 0)
        return rc;
    rc = mgds_layout_hindexed(&indexed, child, 5, blocklength, displacement);
    if (rc < 0)
        goto put_child;
    rc = mgds_layout_hvector(&vector, indexed, 100, 2, 5000);
    if (rc < 0)
        goto put_indexed;
    rc = mgds_layout_struct(&all, 3, blocklength, displacement,
                            (struct mgds_layout *[]){vector, indexed, child});
    mgds_layout_put(all);
    mgds_layout_put(vector);
put_indexed:
    mgds_layout_put(indexed);
put_child:
    mgds_layout_put(child);
    return rc;
}

static void without_memory_nothing_leaks(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, make_nested, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_are_walked_as_their_typemaps_say),
        cmocka_unit_test(regular_types_are_one_span),
        cmocka_unit_test(one_piece_may_begin_anywhere_and_be_followed_by_a_gap),
        cmocka_unit_test(indexed_types_are_joined_where_they_are_regular),
        cmocka_unit_test(memory_does_not_grow_with_counts),
        cmocka_unit_test(sizes_and_addresses_beyond_64_bits_are_refused),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(without_memory_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
