/* One constructor a kind; spans are written out by hand beside MPI's calls. */
#include "tests/mpi/matrix/types.h"

#include <string.h>

/* What elements are made of: `bytes` each, `units` of them in the message. */
struct unit {
    MPI_Datatype mpi;
    size_t bytes;
    size_t units;
};

static struct unit unit_for(size_t bytes)
{
    if (bytes >= 64 && bytes % 8 == 0)
        return (struct unit){MPI_DOUBLE, 8, bytes / 8};
    if (bytes >= 16 && bytes % 4 == 0)
        return (struct unit){MPI_INT, 4, bytes / 4};
    return (struct unit){MPI_BYTE, 1, bytes};
}

/* The largest power of two up to `most` that divides n; 1 for none. */
static size_t part_of(size_t n, size_t most)
{
    size_t part = most;

    while (part > 1 && (n == 0 || n % part != 0))
        part /= 2;
    return part;
}

static void add(struct mgds_mx_type *t, ptrdiff_t offset, size_t bytes)
{
    ptrdiff_t end = offset + (ptrdiff_t)bytes;

    if (t->spans == 0 || offset < t->low)
        t->low = offset;
    if (t->spans == 0 || end > t->high)
        t->high = end;
    t->span[t->spans++] = (struct mgds_mx_span){offset, bytes};
    t->data += bytes;
}

static void contiguous(struct mgds_mx_type *t, const struct unit *u)
{
    size_t n = part_of(u->units, 4);

    MPI_Type_contiguous((int)n, u->mpi, &t->mpi);
    add(t, 0, n * u->bytes);
    t->extent = (ptrdiff_t)t->data;
}

static void vector(struct mgds_mx_type *t, const struct unit *u)
{
    size_t length = part_of(u->units, 2);
    size_t blocks = part_of(u->units / length, 8);
    size_t stride = length + 3;

    MPI_Type_vector((int)blocks, (int)length, (int)stride, u->mpi, &t->mpi);
    for (size_t i = 0; i < blocks; i++)
        add(t, (ptrdiff_t)(i * stride * u->bytes), length * u->bytes);
    t->extent = t->high;
}

/* Displacements that do not ascend: data comes in typemap order. */
static void indexed(struct mgds_mx_type *t, const struct unit *u)
{
    static const int lengths[] = {2, 1, 4, 1};
    static const int places[] = {9, 2, 4, 12};
    static const int one[] = {1};
    int blocks = part_of(u->units, 8) == 8 ? 4 : 1;
    const int *length = blocks == 4 ? lengths : one;

    MPI_Type_indexed(blocks, length, places, u->mpi, &t->mpi);
    for (int i = 0; i < blocks; i++)
        add(t, places[i] * (ptrdiff_t)u->bytes, (size_t)length[i] * u->bytes);
    t->extent = t->high - t->low;
}

/* Extents are multiples of 8: MPI pads no further. */
static void structure(struct mgds_mx_type *t, const struct unit *u)
{
    static const int lengths[] = {4, 1, 1};
    static const MPI_Aint places[] = {0, 8, 16};
    static const MPI_Datatype parts[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
    const MPI_Aint three = 3;
    int few = (int)(u->units * u->bytes);

    if (few % 16 != 0 || few == 0) {
        few = few > 0 ? few : 1;
        MPI_Type_create_struct(1, &few, &three, parts, &t->mpi);
        add(t, three, (size_t)few);
        t->extent = few;
        return;
    }
    MPI_Type_create_struct(3, lengths, places, parts, &t->mpi);
    add(t, 0, 4);
    add(t, 8, 4);
    add(t, 16, 8);
    t->extent = 24;
}

/* Gaps on both sides of the data, the first at negative offsets. */
static void resized(struct mgds_mx_type *t, const struct unit *u)
{
    MPI_Aint step = (MPI_Aint)u->bytes;
    size_t n = part_of(u->units, 4);
    MPI_Datatype child;

    MPI_Type_contiguous((int)n, u->mpi, &child);
    t->extent = ((MPI_Aint)n + 2) * step;
    MPI_Type_create_resized(child, -step, t->extent, &t->mpi);
    MPI_Type_free(&child);
    add(t, 0, n * u->bytes);
}

static void subarray(struct mgds_mx_type *t, const struct unit *u)
{
    static const int sizes[] = {3, 4, 4};
    static const int parts[] = {2, 2, 2};
    static const int starts[] = {1, 1, 2};
    static const int line[] = {5, 1, 2};
    ptrdiff_t b = (ptrdiff_t)u->bytes;

    if (part_of(u->units, 8) < 8) {
        MPI_Type_create_subarray(1, &line[0], &line[1], &line[2], MPI_ORDER_C,
                                 u->mpi, &t->mpi);
        add(t, 2 * b, u->bytes);
        t->extent = 5 * b;
        return;
    }
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, u->mpi,
                             &t->mpi);
    for (int row = 0; row < 4; row++)
        add(t, ((1L + row / 2) * 4 + 1 + row % 2) * 4 * b + 2L * b,
            2 * u->bytes);
    t->extent = 3L * 4 * 4 * b;
}

/* hvector of hindexed of contiguous of resized of vector. */
static void nested(struct mgds_mx_type *t, const struct unit *u)
{
    MPI_Aint b = (MPI_Aint)u->bytes;
    int many = part_of(u->units, 8) == 8;
    int one = 1;
    MPI_Datatype made[4];

    MPI_Type_vector(many ? 2 : 1, 1, 2, u->mpi, &made[0]);
    MPI_Type_create_resized(made[0], -b, 4 * b, &made[1]);
    MPI_Type_contiguous(many ? 2 : 1, made[1], &made[2]);
    MPI_Type_create_hindexed(1, &one, &b, made[2], &made[3]);
    MPI_Type_create_hvector(many ? 2 : 1, 1, 9 * b, made[3], &t->mpi);
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&made[i]);
    for (int i = 0; i < (many ? 8 : 1); i++)
        add(t, (1 + 2 * i + (i >= 4)) * b, u->bytes);
    t->extent = many ? 17 * b : 4 * b;
}

static void pair(struct mgds_mx_type *t, const struct unit *u)
{
    (void)u;
    t->mpi = MPI_SHORT_INT;
    add(t, 0, sizeof(short));
    add(t, sizeof(int), sizeof(int));
    t->extent = 2 * sizeof(int);
}

static const struct {
    const char *name;
    void (*make)(struct mgds_mx_type *t, const struct unit *u);
} kinds[] = {
    [MGDS_MX_CONTIGUOUS] = {"contiguous", contiguous},
    [MGDS_MX_VECTOR] = {"vector", vector},
    [MGDS_MX_INDEXED] = {"indexed", indexed},
    [MGDS_MX_STRUCT] = {"struct", structure},
    [MGDS_MX_RESIZED] = {"resized", resized},
    [MGDS_MX_SUBARRAY] = {"subarray", subarray},
    [MGDS_MX_NESTED] = {"nested", nested},
    [MGDS_MX_PAIR] = {"pair", pair},
};

const char *mgds_mx_type_name(enum mgds_mx_type_kind kind)
{
    return kinds[kind].name;
}

void mgds_mx_type_init(struct mgds_mx_type *type, enum mgds_mx_type_kind kind,
                       size_t bytes, size_t *count)
{
    struct unit unit = unit_for(bytes);

    memset(type, 0, sizeof(*type));
    type->kind = kind;
    kinds[kind].make(type, &unit);
    *count = kind == MGDS_MX_PAIR ? bytes / 8 : bytes / type->data;
    type->owned = kind != MGDS_MX_PAIR;
    if (type->owned)
        MPI_Type_commit(&type->mpi);
}

void mgds_mx_type_bytes(struct mgds_mx_type *type, size_t bytes, size_t *count)
{
    memset(type, 0, sizeof(*type));
    type->mpi = MPI_BYTE;
    add(type, 0, 1);
    type->extent = 1;
    *count = bytes;
}

void mgds_mx_type_fini(struct mgds_mx_type *type)
{
    if (type->owned)
        MPI_Type_free(&type->mpi);
}
