/*
 * Every constructor of datatypes, nested too: what is sent from GPU memory as
 * that type is what MPI_Pack packs from host memory; what is received into it
 * is what MPI_Unpack makes of it, gaps untouched.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { ROOM = 1 << 16, BEFORE = 1 << 12, TAG = 8, COUNT = 3 };

static unsigned state = 12345;

static int pick(int limit)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 16) % limit;
}

static void of_int(MPI_Datatype *out)
{
    MPI_Type_dup(MPI_INT, out);
}

static void contiguous(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Type_contiguous(1 + pick(4), old, out);
}

static void vector(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Type_vector(1 + pick(4), 1 + pick(3), 3 + pick(3), old, out);
}

static void vector_c(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Type_vector_c(1 + pick(4), 1 + pick(3), 3 + pick(3), old, out);
}

static void hvector(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_create_hvector(1 + pick(3), 2, 2 * extent + pick(9), old, out);
}

static void indexed(MPI_Datatype old, MPI_Datatype *out)
{
    int lengths[3] = {1 + pick(2), 0, 1 + pick(3)};
    int places[3] = {pick(3), 9, 4 + pick(3)};

    MPI_Type_indexed(3, lengths, places, old, out);
}

static void indexed_c(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Count lengths[2] = {1 + pick(2), 1 + pick(3)};
    MPI_Count places[2] = {5, pick(3)};

    MPI_Type_indexed_c(2, lengths, places, old, out);
}

static void hindexed(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Aint lb, extent;
    int lengths[2] = {2, 1};

    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_create_hindexed(2, lengths, (MPI_Aint[]){4 * extent + pick(7), 0},
                             old, out);
}

static void blocks(MPI_Datatype old, MPI_Datatype *out)
{
    int places[3] = {0, 2 + pick(2), 5 + pick(2)};

    MPI_Type_create_indexed_block(3, 1 + pick(2), places, old, out);
}

static void hblocks(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_create_hindexed_block(
        2, 2, (MPI_Aint[]){1 + pick(5), 3 * extent + 11}, old, out);
}

static void structure(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Aint lb, extent;
    int lengths[3] = {1, 2, 3};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_CHAR, old};

    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_create_struct(3, lengths, (MPI_Aint[]){8, 0, 24 - lb}, types, out);
}

static void structure_c(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Count lengths[2] = {2, 1};
    MPI_Datatype types[2] = {old, MPI_SHORT_INT};
    MPI_Aint lb, extent;

    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_create_struct_c(2, lengths, (MPI_Count[]){16 - lb, 0}, types, out);
}

static void resized(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_create_resized(old, lb - pick(5), extent + 8 + pick(5), out);
}

static void subarray_in(int order, MPI_Datatype old, MPI_Datatype *out)
{
    int sizes[3] = {2 + pick(2), 3, 4};
    int parts[3] = {1 + pick(2), 2, 1 + pick(3)};
    int starts[3] = {pick(2) ? sizes[0] - parts[0] : 0, 1, 0};

    MPI_Type_create_subarray(3, sizes, parts, starts, order, old, out);
}

static void subarray(MPI_Datatype old, MPI_Datatype *out)
{
    subarray_in(MPI_ORDER_C, old, out);
}

static void subarray_f(MPI_Datatype old, MPI_Datatype *out)
{
    subarray_in(MPI_ORDER_FORTRAN, old, out);
}

static void darray(MPI_Datatype old, MPI_Datatype *out)
{
    static const int ways[3] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                MPI_DISTRIBUTE_NONE};
    int sizes[3] = {5, 7, 3};
    int ways_of[3] = {ways[pick(2)], ways[pick(2)], ways[2]};
    int arguments[3] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG,
                        MPI_DISTRIBUTE_DFLT_DARG};
    int processes[3] = {2, 3, 1};

    if (ways_of[1] == MPI_DISTRIBUTE_CYCLIC)
        arguments[1] = 2;
    MPI_Type_create_darray(6, pick(6), 3, sizes, ways_of, arguments, processes,
                           pick(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, out);
}

static void duplicate(MPI_Datatype old, MPI_Datatype *out)
{
    MPI_Type_dup(old, out);
}

static void (*const constructors[])(MPI_Datatype, MPI_Datatype *) = {
    contiguous, vector,     vector_c, hvector,   indexed,     indexed_c,
    hindexed,   blocks,     hblocks,  structure, structure_c, resized,
    subarray,   subarray_f, darray,   duplicate};

enum { CONSTRUCTORS = sizeof(constructors) / sizeof(*constructors) };

static char model[ROOM], packed[ROOM], unpacked[ROOM], seen[ROOM];

static void sent(MPI_Datatype type, char *gpu)
{
    int bytes = 0, position = 0;
    MPI_Request request;
    MPI_Status status;

    MPI_Pack(model + BEFORE, COUNT, type, packed, ROOM, &position,
             MPI_COMM_SELF);
    MPI_Isend(gpu + BEFORE, COUNT, type, 0, TAG, MPI_COMM_SELF, &request);
    memset(seen, 0, ROOM);
    MPI_Recv(seen, ROOM, MPI_PACKED, 0, TAG, MPI_COMM_SELF, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_PACKED, &bytes);
    CHECK(bytes == position && memcmp(seen, packed, (size_t)bytes) == 0);
}

/* All of it, then all but some bytes of it. */
static void received(MPI_Datatype type, char *gpu, int elements)
{
    int position = 0, size, count = -1;
    MPI_Request request;
    MPI_Status status;

    MPI_Type_size(type, &size);
    memset(unpacked, 0xee, ROOM);
    gpu_fill(gpu, ROOM, -1);
    MPI_Unpack(packed, size * COUNT, &position, unpacked + BEFORE, elements,
               type, MPI_COMM_SELF);
    MPI_Irecv(gpu + BEFORE, COUNT, type, 0, TAG, MPI_COMM_SELF, &request);
    MPI_Send(packed, size * elements, MPI_PACKED, 0, TAG, MPI_COMM_SELF);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(size == 0 || count == elements);
    gpu_read(seen, gpu, ROOM);
    CHECK(memcmp(seen, unpacked, ROOM) == 0);
}

static void try_type(MPI_Datatype type, char *gpu)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    if (true_lb < -BEFORE ||
        true_lb + true_extent + COUNT * extent + BEFORE > ROOM || extent < 0)
        return;
    MPI_Type_commit(&type);
    gpu_write(gpu, model, ROOM);
    sent(type, gpu);
    received(type, gpu, COUNT);
    received(type, gpu, 1);
}

static void nested(char *gpu, int depth)
{
    MPI_Datatype type;

    of_int(&type);
    for (int level = 0; level < depth; level++) {
        MPI_Datatype outer;

        constructors[pick(CONSTRUCTORS)](type, &outer);
        MPI_Type_free(&type);
        type = outer;
    }
    try_type(type, gpu);
    MPI_Type_free(&type);
}

static void each(char *gpu)
{
    static const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT,
                                         MPI_LONG_INT,  MPI_2INT,
                                         MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};

    for (int i = 0; i < CONSTRUCTORS; i++) {
        MPI_Datatype type;

        constructors[i](MPI_SHORT, &type);
        try_type(type, gpu);
        MPI_Type_free(&type);
    }
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        MPI_Datatype type = pairs[i];

        try_type(type, gpu);
    }
}

/* Absolute addresses, from MPI_BOTTOM, in two allocations. */
static void bottom(void)
{
    char *one = gpu_new(100, 1);
    char *two = gpu_new(100, 2);
    MPI_Aint places[2] = {(MPI_Aint)two, (MPI_Aint)one};
    int lengths[2] = {30, 20};
    MPI_Datatype type;
    char *in = gpu_new(50, -1);
    unsigned char host[50];

    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, TAG, in, 50, MPI_BYTE, 0, TAG,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    gpu_read(host, in, 50);
    for (int i = 0; i < 50; i++)
        CHECK(host[i] ==
              (unsigned char)(i < 30 ? 2 + i * 7 : 1 + (i - 30) * 7));
    MPI_Type_free(&type);
    gpu_delete(one);
    gpu_delete(two);
    gpu_delete(in);
}

int main(int argc, char **argv)
{
    char *gpu;

    gpu_begin(&argc, &argv);
    if (argc > 1)
        state = (unsigned)atoi(argv[1]);
    gpu = gpu_new(ROOM, 0);
    for (int i = 0; i < ROOM; i++)
        model[i] = (char)(i * 31 + i / 256);
    each(gpu);
    for (int turn = 0; turn < 60; turn++)
        nested(gpu, 2 + turn % 2);
    bottom();
    gpu_delete(gpu);
    gpu_end("datatypes");
    return 0;
}
