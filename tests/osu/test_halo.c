/* Fields of the halo benchmark: cells, faces, what lies in a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <cmocka.h>

#include "osu-extensions/halo/options.h"
#include "osu-extensions/halo/shape.h"

#define ALL 0x3fu

static void sizes_that_no_field_has_are_refused(void **state)
{
    struct mgds_halo_args a;

    (void)state;
    assert_int_equal(mgds_halo_shape(&a, 1, 0, ALL), -EINVAL);
    assert_int_equal(mgds_halo_shape(&a, 1, 12, ALL), -EINVAL);
    assert_int_equal(mgds_halo_shape(&a, 1, 8, ALL), 0);
    assert_int_equal(mgds_halo_shape(&a, 2, 8, ALL), -EINVAL);
    assert_int_equal(mgds_halo_shape(&a, 2, 16, ALL), 0);
    assert_int_equal(mgds_halo_shape(&a, 3, 16, ALL), -EINVAL);
    assert_int_equal(mgds_halo_shape(&a, 3, 32, ALL), 0);
}

static void long_faces_get_more_into_each_cell(void **state)
{
    struct mgds_halo_args a;

    (void)state;
    assert_int_equal(mgds_halo_shape(&a, 2, 8192, ALL), 0);
    assert_int_equal(a.cells[0], 1024);
    assert_int_equal(a.step[1], 1);
    assert_int_equal(mgds_halo_shape(&a, 2, 262144, ALL), 0);
    assert_int_equal(a.cells[0], 1024);
    assert_int_equal(a.step[1], 32);
    assert_int_equal(mgds_halo_shape(&a, 3, 262144, ALL), 0);
    assert_int_equal(a.cells[2], 64);
    assert_int_equal(a.step[2], 8);
}

/* Only what does not lie in a row is packed, and only if somebody wants it. */
static void strided_faces_with_a_neighbour_are_packed(void **state)
{
    struct mgds_halo_args a;

    (void)state;
    assert_int_equal(mgds_halo_shape(&a, 1, 64, ALL), 0);
    assert_int_equal(a.strided, 0);
    assert_int_equal(mgds_halo_shape(&a, 2, 64, ALL), 0);
    assert_int_equal(a.strided, 0xc);
    assert_int_equal(mgds_halo_shape(&a, 2, 64, 0x8), 0);
    assert_int_equal(a.strided, 0x8);
    assert_int_equal(mgds_halo_shape(&a, 3, 128, ALL), 0);
    assert_int_equal(a.strided, ALL);
}

/* How many faces, edges or ghosts, hold each element. */
static unsigned char *count(const struct mgds_halo_args *a,
                            const struct mgds_halo_face *faces)
{
    unsigned char *counts = calloc(mgds_halo_elements(a), 1);

    assert_non_null(counts);
    for (uint32_t f = 0; f < 2 * a->dims; f++) {
        for (uint32_t e = 0; e < a->elements; e++) {
            uint64_t at = mgds_halo_place(&faces[f], e);

            assert_true(at < mgds_halo_elements(a));
            counts[at]++;
        }
    }
    return counts;
}

/* The dimensions in which a cell is in the layer that is asked for. */
static int layers(const struct mgds_halo_args *a, uint64_t at, int ghost)
{
    int found = 0;
    int outside = 0;

    for (uint32_t d = 0; d < a->dims; d++) {
        uint64_t x = at / a->step[d];

        at %= a->step[d];
        if (x == 0 || x == a->cells[d] + 1)
            outside++;
        else if (!ghost && (x == 1 || x == a->cells[d]))
            found++;
    }
    if (ghost)
        return outside == 1; /* corners are nobody's face */
    return outside == 0 ? found : 0;
}

static void faces_hold_each_outer_cell_once_a_dimension(void **state)
{
    struct mgds_halo_args a;

    (void)state;
    for (int dims = 1; dims <= 3; dims++) {
        unsigned char *edges, *ghosts;

        assert_int_equal(mgds_halo_shape(&a, dims, 128, ALL), 0);
        edges = count(&a, a.edge);
        ghosts = count(&a, a.ghost);
        for (uint64_t at = 0; at < mgds_halo_elements(&a); at++) {
            assert_int_equal(edges[at], layers(&a, at, 0));
            assert_int_equal(ghosts[at], layers(&a, at, 1));
        }
        free(ghosts);
        free(edges);
    }
}

/* Edge and ghost of a face are one step apart: element by element. */
static void a_ghost_lies_beside_its_edge(void **state)
{
    struct mgds_halo_args a;

    (void)state;
    assert_int_equal(mgds_halo_shape(&a, 3, 128, ALL), 0);
    for (uint32_t f = 0; f < 6; f++) {
        for (uint32_t e = 0; e < a.elements; e++) {
            uint64_t edge = mgds_halo_place(&a.edge[f], e);
            uint64_t ghost = mgds_halo_place(&a.ghost[f], e);

            assert_int_equal(f % 2 ? ghost - edge : edge - ghost,
                             a.step[f / 2]);
        }
    }
}

static void options_have_defaults_and_values(void **state)
{
    struct mgds_halo_options o;
    char *argv[] = {"x",  "-m",         "64:4096", "-i", "7", "--kernel",
                    "20", "--periodic", "--dims",  "3",  NULL};
    char why[256];

    (void)state;
    assert_int_equal(mgds_halo_options_init(&o, 1, argv, why), 0);
    assert_int_equal(o.min_size, 8192);
    assert_int_equal(o.dims, 1);
    assert_false(o.periodic);
    assert_int_equal(mgds_halo_options_init(&o, 10, argv, why), 0);
    assert_int_equal(o.min_size, 64);
    assert_int_equal(o.max_size, 4096);
    assert_int_equal(o.steps, 7);
    assert_int_equal(o.kernel_us, 20);
    assert_int_equal(o.dims, 3);
    assert_true(o.periodic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_no_field_has_are_refused),
        cmocka_unit_test(long_faces_get_more_into_each_cell),
        cmocka_unit_test(strided_faces_with_a_neighbour_are_packed),
        cmocka_unit_test(faces_hold_each_outer_cell_once_a_dimension),
        cmocka_unit_test(a_ghost_lies_beside_its_edge),
        cmocka_unit_test(options_have_defaults_and_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
