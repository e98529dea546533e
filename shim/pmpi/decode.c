/*
 * Taking a datatype apart. Small and large counts are read alike: contents
 * come as three lists, and each value has its list by what it is, in an order
 * that does not depend on which form the constructor had.
 */
#include "shim/pmpi/decode.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/mem/layout.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/decode_array.h"
#include "shim/pmpi/types.h"

struct contents {
    int combiner;
    bool large; /* counts and addresses are in counts */
    MPI_Count n_ints, n_addresses, n_counts, n_types;
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *types;
    MPI_Count at_int, at_address, at_count; /* next to be read */
};

static MPI_Count next_int(struct contents *contents)
{
    return contents->ints[contents->at_int++];
}

static MPI_Count next_count(struct contents *contents)
{
    return contents->large ? contents->counts[contents->at_count++]
                           : next_int(contents);
}

static MPI_Count next_address(struct contents *contents)
{
    return contents->large ? contents->counts[contents->at_count++]
                           : contents->addresses[contents->at_address++];
}

static int envelope(struct contents *contents, MPI_Datatype type)
{
    const struct mgds_below *below = mgds_below();
    int ints, addresses, types, rc;

    if (below->Type_get_envelope_c) {
        rc = below->Type_get_envelope_c(
            type, &contents->n_ints, &contents->n_addresses,
            &contents->n_counts, &contents->n_types, &contents->combiner);
        contents->large = contents->n_counts > 0;
        return rc == MPI_SUCCESS ? 0 : -EINVAL;
    }
    rc = below->Type_get_envelope(type, &ints, &addresses, &types,
                                  &contents->combiner);
    if (rc != MPI_SUCCESS)
        return -EINVAL;
    contents->n_ints = ints;
    contents->n_addresses = addresses;
    contents->n_types = types;
    return 0;
}

static int read_contents(struct contents *contents, MPI_Datatype type)
{
    const struct mgds_below *below = mgds_below();
    int rc;

    if (below->Type_get_contents_c)
        rc = below->Type_get_contents_c(
            type, contents->n_ints, contents->n_addresses, contents->n_counts,
            contents->n_types, contents->ints, contents->addresses,
            contents->counts, contents->types);
    else
        rc = below->Type_get_contents(type, (int)contents->n_ints,
                                      (int)contents->n_addresses,
                                      (int)contents->n_types, contents->ints,
                                      contents->addresses, contents->types);
    return rc == MPI_SUCCESS ? 0 : -EINVAL;
}

/* One block for the four lists, widest members first. */
static int make_room(struct contents *contents)
{
    size_t counts = (size_t)contents->n_counts * sizeof(MPI_Count);
    size_t addresses = (size_t)contents->n_addresses * sizeof(MPI_Aint);
    size_t types = (size_t)contents->n_types * sizeof(MPI_Datatype);
    size_t ints = (size_t)contents->n_ints * sizeof(int);
    char *room = mgds_malloc(counts + addresses + types + ints + 1);

    if (!room)
        return -ENOMEM;
    contents->counts = (MPI_Count *)room;
    contents->addresses = (MPI_Aint *)(room + counts);
    contents->types = (MPI_Datatype *)(room + counts + addresses);
    contents->ints = (int *)(room + counts + addresses + types);
    return 0;
}

static bool is_predefined(int combiner)
{
    return combiner == MPI_COMBINER_NAMED ||
           combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

/* The handles from get_contents are ours to free, unless predefined. */
static void free_types(struct contents *contents)
{
    struct contents of_type = {.n_counts = 0};

    for (MPI_Count i = 0; i < contents->n_types; i++)
        if (envelope(&of_type, contents->types[i]) == 0 &&
            !is_predefined(of_type.combiner))
            mgds_below()->Type_free(&contents->types[i]);
}

/* Blocks of a type: lengths in elements, displacements in bytes. */
struct blocks {
    size_t count;
    size_t *length;
    ptrdiff_t *displacement;
};

static int blocks_init(struct blocks *blocks, MPI_Count count)
{
    size_t n = (size_t)count;

    blocks->count = n;
    blocks->length = mgds_malloc(n * sizeof(size_t) + 1);
    blocks->displacement = mgds_malloc(n * sizeof(ptrdiff_t) + 1);
    if (blocks->length && blocks->displacement)
        return 0;
    free(blocks->length);
    free(blocks->displacement);
    return -ENOMEM;
}

static void blocks_fini(struct blocks *blocks)
{
    free(blocks->length);
    free(blocks->displacement);
}

enum blocks_flag {
    ONE_LENGTH = 1,  /* one blocklength for all, ahead of displacements */
    IN_ELEMENTS = 2, /* displacements count elements of the child */
};

static int read_blocks(struct blocks *blocks, struct contents *contents,
                       unsigned flags, ptrdiff_t extent)
{
    int rc = blocks_init(blocks, next_count(contents));
    MPI_Count length;

    if (rc < 0)
        return rc;
    length = flags & ONE_LENGTH ? next_count(contents) : 0;
    for (size_t i = 0; i < blocks->count; i++)
        blocks->length[i] =
            (size_t)(flags & ONE_LENGTH ? length : next_count(contents));
    for (size_t i = 0; i < blocks->count; i++)
        blocks->displacement[i] = flags & IN_ELEMENTS
                                      ? next_count(contents) * extent
                                      : next_address(contents);
    return 0;
}

static int decode_blocks(struct mgds_layout **out, struct contents *contents,
                         struct mgds_layout *child, unsigned flags)
{
    struct blocks blocks;
    int rc = read_blocks(&blocks, contents, flags, child->extent);

    if (rc < 0)
        return rc;
    rc = mgds_layout_hindexed(out, child, blocks.count, blocks.length,
                              blocks.displacement);
    blocks_fini(&blocks);
    return rc;
}

static int decode_vector(struct mgds_layout **out, struct contents *contents,
                         struct mgds_layout *child, bool in_elements)
{
    size_t count = (size_t)next_count(contents);
    size_t length = (size_t)next_count(contents);
    ptrdiff_t stride = in_elements ? next_count(contents) * child->extent
                                   : next_address(contents);

    return mgds_layout_hvector(out, child, count, length, stride);
}

static int children_of(struct mgds_layout **child, struct contents *contents)
{
    for (MPI_Count i = 0; i < contents->n_types; i++) {
        int rc = mgds_type_layout(&child[i], contents->types[i]);

        if (rc == 0)
            continue;
        while (i-- > 0)
            mgds_layout_put(child[i]);
        return rc;
    }
    return 0;
}

static int decode_struct(struct mgds_layout **out, struct contents *contents)
{
    size_t n = (size_t)contents->n_types;
    struct mgds_layout **child =
        mgds_malloc(n * sizeof(struct mgds_layout *) + 1);
    struct blocks blocks;
    int rc;

    if (!child)
        return -ENOMEM;
    rc = children_of(child, contents);
    if (rc < 0)
        goto free_child;
    rc = read_blocks(&blocks, contents, 0, 0);
    if (rc < 0)
        goto put_children;
    rc = mgds_layout_struct(out, blocks.count, blocks.length,
                            blocks.displacement, child);
    blocks_fini(&blocks);
put_children:
    for (size_t i = 0; i < n; i++)
        mgds_layout_put(child[i]);
free_child:
    free(child);
    return rc;
}

static void read_dims(MPI_Count *value, unsigned dims, struct contents *from,
                      MPI_Count (*next)(struct contents *))
{
    for (unsigned d = 0; d < dims; d++)
        value[d] = next(from);
}

static int decode_subarray(struct mgds_layout **out, struct contents *contents,
                           struct mgds_layout *child)
{
    struct mgds_array array = {.dims = (unsigned)next_int(contents)};
    int rc = mgds_array_init(&array);

    if (rc < 0)
        return rc;
    read_dims(array.size, array.dims, contents, next_count);
    read_dims(array.subsize, array.dims, contents, next_count);
    read_dims(array.start, array.dims, contents, next_count);
    array.order = (int)next_int(contents);
    rc = mgds_array_layout(out, &array, child);
    mgds_array_fini(&array);
    return rc;
}

static int decode_darray(struct mgds_layout **out, struct contents *contents,
                         struct mgds_layout *child)
{
    struct mgds_array array = {.distributed = true};
    int rc;

    next_int(contents); /* the number of processes: the product of psizes */
    array.rank = next_int(contents);
    array.dims = (unsigned)next_int(contents);
    rc = mgds_array_init(&array);
    if (rc < 0)
        return rc;
    read_dims(array.size, array.dims, contents, next_count);
    read_dims(array.distribution, array.dims, contents, next_int);
    read_dims(array.argument, array.dims, contents, next_int);
    read_dims(array.processes, array.dims, contents, next_int);
    array.order = (int)next_int(contents);
    rc = mgds_array_layout(out, &array, child);
    mgds_array_fini(&array);
    return rc;
}

static int unknown(int combiner)
{
    mgds_warn_once("datatypes of combiner %d are not known: GPU memory cannot "
                   "be used with them",
                   combiner);
    return -ENOTSUP;
}

/* The types that are made of one other. */
static int decode_child(struct mgds_layout **out, struct contents *contents,
                        struct mgds_layout *child)
{
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: /* the extent is asked for in the end */
        *out = mgds_layout_get(child);
        return 0;
    case MPI_COMBINER_CONTIGUOUS:
        return mgds_layout_contiguous(out, child, (size_t)next_count(contents));
    case MPI_COMBINER_VECTOR:
        return decode_vector(out, contents, child, true);
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HVECTOR_INTEGER:
        return decode_vector(out, contents, child, false);
    case MPI_COMBINER_INDEXED:
        return decode_blocks(out, contents, child, IN_ELEMENTS);
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_INTEGER:
        return decode_blocks(out, contents, child, 0);
    case MPI_COMBINER_INDEXED_BLOCK:
        return decode_blocks(out, contents, child, ONE_LENGTH | IN_ELEMENTS);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return decode_blocks(out, contents, child, ONE_LENGTH);
    case MPI_COMBINER_SUBARRAY:
        return decode_subarray(out, contents, child);
    case MPI_COMBINER_DARRAY:
        return decode_darray(out, contents, child);
    default:
        return unknown(contents->combiner);
    }
}

static int decode_combined(struct mgds_layout **out, struct contents *contents)
{
    struct mgds_layout *child;
    int rc;

    if (contents->combiner == MPI_COMBINER_STRUCT ||
        contents->combiner == MPI_COMBINER_STRUCT_INTEGER)
        return decode_struct(out, contents);
    if (contents->n_types != 1)
        return unknown(contents->combiner);
    rc = mgds_type_layout(&child, contents->types[0]);
    if (rc < 0)
        return rc;
    rc = decode_child(out, contents, child);
    mgds_layout_put(child);
    return rc;
}

/* Pair types of C: two members as a compiler places them. X(type, first,
 * second) */
#define PAIRS(X)                                                               \
    X(MPI_FLOAT_INT, float, int)                                               \
    X(MPI_DOUBLE_INT, double, int)                                             \
    X(MPI_LONG_INT, long, int)                                                 \
    X(MPI_SHORT_INT, short, int)                                               \
    X(MPI_LONG_DOUBLE_INT, long double, int)

struct pair {
    MPI_Datatype type;
    size_t first, second;
    ptrdiff_t at;
    size_t extent;
};

static const struct pair pairs[] = {
#define X(handle, one, two)                                                    \
    {handle, sizeof(one), sizeof(two),                                         \
     offsetof(                                                                 \
         struct {                                                              \
             one a;                                                            \
             two b;                                                            \
         },                                                                    \
         b),                                                                   \
     sizeof(struct {                                                           \
         one a;                                                                \
         two b;                                                                \
     })},
    PAIRS(X)
#undef X
};

static int decode_pair(struct mgds_layout **out, const struct pair *pair)
{
    static const size_t once[2] = {1, 1};
    const ptrdiff_t at[2] = {0, pair->at};
    struct mgds_layout *member[2];
    int rc = mgds_layout_bytes(&member[0], pair->first, pair->first);

    if (rc < 0)
        return rc;
    rc = mgds_layout_bytes(&member[1], pair->second, pair->second);
    if (rc == 0) {
        rc = mgds_layout_struct(out, 2, once, at, member);
        mgds_layout_put(member[1]);
    }
    mgds_layout_put(member[0]);
    return rc;
}

static int decode_predefined(struct mgds_layout **out, MPI_Datatype type)
{
    MPI_Count size, lb, extent;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i].type == type)
            return decode_pair(out, &pairs[i]);
    if (mgds_below()->Type_size_x(type, &size) != MPI_SUCCESS ||
        mgds_below()->Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS)
        return -EINVAL;
    return mgds_layout_bytes(out, (size_t)size, (size_t)extent);
}

/* The MPI below has the last word on where elements begin: it knows of
 * alignment and of markers. */
static int settle_extent(struct mgds_layout **layout, MPI_Datatype type)
{
    struct mgds_layout *settled;
    MPI_Count lb, extent;
    int rc;

    if (mgds_below()->Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS)
        return -EINVAL;
    if ((*layout)->lb == lb && (*layout)->extent == extent)
        return 0;
    rc = mgds_layout_resized(&settled, *layout, lb, extent);
    if (rc < 0)
        return rc;
    mgds_layout_put(*layout);
    *layout = settled;
    return 0;
}

static int decode_derived(struct mgds_layout **out, struct contents *contents,
                          MPI_Datatype type)
{
    int rc = make_room(contents);

    if (rc < 0)
        return rc;
    rc = read_contents(contents, type);
    if (rc < 0)
        goto free_room;
    rc = decode_combined(out, contents);
    free_types(contents);
free_room:
    free(contents->counts);
    return rc;
}

int mgds_decode_type(struct mgds_layout **out, bool *derived, MPI_Datatype type)
{
    struct contents contents = {.n_counts = 0};
    struct mgds_layout *layout;
    int rc = envelope(&contents, type);

    if (rc != 0)
        return rc;
    *derived = !is_predefined(contents.combiner);
    rc = *derived ? decode_derived(&layout, &contents, type)
                  : decode_predefined(&layout, type);
    if (rc != 0)
        return rc;
    rc = settle_extent(&layout, type);
    if (rc != 0)
        mgds_layout_put(layout);
    else
        *out = layout;
    return rc;
}

static uint32_t size_bit(size_t size)
{
    return (uint32_t)1 << (size < 31 ? size : 31);
}

static uint32_t predefined_sizes(MPI_Datatype type)
{
    MPI_Count size;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i].type == type)
            return size_bit(pairs[i].first) | size_bit(pairs[i].second);
    if (mgds_below()->Type_size_x(type, &size) != MPI_SUCCESS)
        return 0;
    return size_bit((size_t)size);
}

static uint32_t derived_sizes(struct contents *contents, MPI_Datatype type)
{
    uint32_t sizes = 0;

    if (make_room(contents) < 0)
        return 0;
    if (read_contents(contents, type) == 0) {
        for (MPI_Count i = 0; i < contents->n_types; i++)
            sizes |= mgds_decode_sizes(contents->types[i]);
        free_types(contents);
    }
    free(contents->counts);
    return sizes;
}

uint32_t mgds_decode_sizes(MPI_Datatype type)
{
    struct contents contents = {.n_counts = 0};

    if (envelope(&contents, type) != 0)
        return 0;
    return is_predefined(contents.combiner) ? predefined_sizes(type)
                                            : derived_sizes(&contents, type);
}
