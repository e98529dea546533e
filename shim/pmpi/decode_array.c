/* Subarrays and distributed arrays. */
#include "shim/pmpi/decode_array.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/gds/mem/layout.h"

enum { LISTS = 7 };

int mgds_array_init(struct mgds_array *array)
{
    size_t n = array->dims;
    MPI_Count *room = mgds_calloc(LISTS * n + 1, sizeof(MPI_Count));

    if (!room)
        return -ENOMEM;
    array->size = room;
    array->subsize = room + n;
    array->start = room + 2 * n;
    array->distribution = room + 3 * n;
    array->argument = room + 4 * n;
    array->processes = room + 5 * n;
    array->coordinate = room + 6 * n;
    return 0;
}

void mgds_array_fini(struct mgds_array *array)
{
    free(array->size);
}

/* Blocks of one dimension: count of length each, step apart, the first at
 * first; the last may be cut short at the end of the array. */
struct share {
    MPI_Count first, length, step, count, last_length;
};

static MPI_Count at_most(MPI_Count value, MPI_Count limit)
{
    return value < limit ? value : limit;
}

static struct share share_of_block(const struct mgds_array *array, unsigned d)
{
    MPI_Count size = array->size[d];
    MPI_Count n = array->processes[d];
    MPI_Count block = array->argument[d] == MPI_DISTRIBUTE_DFLT_DARG
                          ? (size + n - 1) / n
                          : array->argument[d];
    MPI_Count first = block * array->coordinate[d];
    MPI_Count length = first < size ? at_most(block, size - first) : 0;

    return (struct share){first, length, 0, length > 0, length};
}

static struct share share_of_cycle(const struct mgds_array *array, unsigned d)
{
    MPI_Count size = array->size[d];
    MPI_Count length =
        array->argument[d] == MPI_DISTRIBUTE_DFLT_DARG ? 1 : array->argument[d];
    struct share share = {.first = length * array->coordinate[d],
                          .length = length,
                          .step = length * array->processes[d]};

    if (share.first >= size)
        return share;
    share.count = (size - share.first + share.step - 1) / share.step;
    share.last_length =
        at_most(length, size - share.first - (share.count - 1) * share.step);
    return share;
}

static struct share share_of(const struct mgds_array *array, unsigned d)
{
    MPI_Count all = array->size[d];

    if (!array->distributed)
        return (struct share){array->start[d], array->subsize[d], 0,
                              array->subsize[d] > 0, array->subsize[d]};
    if (array->distribution[d] == MPI_DISTRIBUTE_BLOCK)
        return share_of_block(array, d);
    if (array->distribution[d] == MPI_DISTRIBUTE_CYCLIC)
        return share_of_cycle(array, d);
    return (struct share){0, all, 0, all > 0, all};
}

/* Ranks are numbered as in a Cartesian grid: the last dimension fastest,
 * whatever the order of the array. */
static void find_coordinates(const struct mgds_array *array)
{
    MPI_Count rank = array->rank;

    for (unsigned d = array->dims; d-- > 0;) {
        array->coordinate[d] = rank % array->processes[d];
        rank /= array->processes[d];
    }
}

/* The full blocks of a dimension as one vector, the cut one behind it. */
static int place_share(struct mgds_layout **out, const struct share *share,
                       struct mgds_layout *unit)
{
    ptrdiff_t extent = unit->extent;
    bool cut = share->count > 0 && share->last_length != share->length;
    MPI_Count full = share->count - cut;
    const size_t once[2] = {1, (size_t)share->last_length};
    const ptrdiff_t at[2] = {share->first * extent,
                             (share->first + full * share->step) * extent};
    struct mgds_layout *part[2] = {NULL, unit};
    int rc = mgds_layout_hvector(&part[0], unit, (size_t)full,
                                 (size_t)share->length, share->step * extent);

    if (rc < 0)
        return rc;
    rc = mgds_layout_struct(out, cut ? 2 : 1, once, at, part);
    mgds_layout_put(part[0]);
    return rc;
}

/* One dimension more: inner is what a step of 1 in it means. */
static int add_dimension(struct mgds_layout **inner, const struct share *share,
                         MPI_Count stride)
{
    struct mgds_layout *unit, *placed;
    int rc = mgds_layout_resized(&unit, *inner, 0, stride);

    if (rc < 0)
        return rc;
    rc = place_share(&placed, share, unit);
    mgds_layout_put(unit);
    if (rc < 0)
        return rc;
    mgds_layout_put(*inner);
    *inner = placed;
    return 0;
}

int mgds_array_layout(struct mgds_layout **out, const struct mgds_array *array,
                      struct mgds_layout *child)
{
    struct mgds_layout *inner = mgds_layout_get(child);
    MPI_Count stride = child->extent;

    if (array->distributed)
        find_coordinates(array);
    for (unsigned i = 0; i < array->dims; i++) {
        unsigned d =
            array->order == MPI_ORDER_FORTRAN ? i : array->dims - 1 - i;
        struct share share = share_of(array, d);
        int rc = add_dimension(&inner, &share, stride);

        if (rc < 0) {
            mgds_layout_put(inner);
            return rc;
        }
        if (__builtin_mul_overflow(stride, array->size[d], &stride)) {
            mgds_layout_put(inner);
            return -EOVERFLOW;
        }
    }
    *out = inner;
    return 0;
}
