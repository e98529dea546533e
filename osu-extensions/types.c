/* MPI datatypes of what layout.c computes. */
#include "osu-extensions/types.h"

#include <errno.h>
#include <stdlib.h>

static MPI_Datatype base_of(enum mgds_bench_type base)
{
    if (base == MGDS_BENCH_INT)
        return MPI_INT;
    return base == MGDS_BENCH_FLOAT ? MPI_FLOAT : MPI_CHAR;
}

static int indexed_make(const struct mgds_bench_layout *layout,
                        MPI_Datatype base, MPI_Datatype *out)
{
    const struct mgds_bench_piece *blocks = layout->ddt->blocks;
    int *lengths = calloc(2 * layout->blocks, sizeof(*lengths));
    int *offsets = lengths + layout->blocks;

    if (!lengths)
        return -ENOMEM;
    for (size_t i = 0; i < layout->blocks; i++) {
        lengths[i] = (int)blocks[i].length;
        offsets[i] = (int)blocks[i].offset;
    }
    MPI_Type_indexed((int)layout->blocks, lengths, offsets, base, out);
    free(lengths);
    return 0;
}

int mgds_bench_datatype_init(struct mgds_bench_datatype *datatype,
                             enum mgds_bench_type base,
                             const struct mgds_bench_layout *layout)
{
    const struct mgds_bench_ddt *ddt = layout->ddt;
    MPI_Datatype mpi = base_of(base);
    int elements = (int)layout->elements;
    int rc = 0;

    *datatype = (struct mgds_bench_datatype){mpi, elements, 0};
    if (ddt->kind == MGDS_BENCH_DDT_NONE)
        return 0;
    if (ddt->kind == MGDS_BENCH_DDT_CONT)
        MPI_Type_contiguous(elements, mpi, &datatype->mpi);
    else if (ddt->kind == MGDS_BENCH_DDT_VECT)
        MPI_Type_vector((int)layout->blocks, (int)ddt->length, (int)ddt->stride,
                        mpi, &datatype->mpi);
    else
        rc = indexed_make(layout, mpi, &datatype->mpi);
    if (rc < 0)
        return rc;
    MPI_Type_commit(&datatype->mpi);
    datatype->count = 1;
    datatype->derived = 1;
    return 0;
}

void mgds_bench_datatype_fini(struct mgds_bench_datatype *datatype)
{
    if (datatype->derived)
        MPI_Type_free(&datatype->mpi);
}
