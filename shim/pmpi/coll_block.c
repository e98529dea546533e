/* Where a block of a collective's buffer lies; see coll_block.h. */
#include "shim/pmpi/coll_block.h"

#include <errno.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/coll_stage.h"
#include "shim/pmpi/types.h"

/* Arguments that the MPI below will refuse. */
static bool lacks_arrays(const struct mgds_coll_side *side,
                         const mgds_word *words)
{
    bool has_types =
        side->shape == MGDS_COLL_TYPES || side->shape == MGDS_COLL_ATYPES;

    return side->shape != MGDS_COLL_BLOCKS &&
           (!words[side->count] || !words[side->displs] ||
            (has_types && !words[side->type]));
}

static MPI_Count count_of(const struct mgds_coll_side *side,
                          const struct mgds_coll_call *call,
                          const mgds_word *words, int i)
{
    mgds_word word = words[side->count];

    if (side->shape != MGDS_COLL_BLOCKS)
        return mgds_coll_count(call, word, i);
    return call->large ? (MPI_Count)word : (int)word;
}

static MPI_Datatype type_of(const struct mgds_coll_side *side,
                            const mgds_word *words, int i)
{
    mgds_word word = words[side->type];

    return side->shape == MGDS_COLL_TYPES || side->shape == MGDS_COLL_ATYPES
               ? ((const MPI_Datatype *)word)[i]
               : (MPI_Datatype)word;
}

static MPI_Aint displ_of(const struct mgds_coll_side *side,
                         const struct mgds_coll_call *call,
                         const mgds_word *words, int i)
{
    mgds_word word = words[side->displs];

    return mgds_coll_has_wide_displs(side, call) ? ((const MPI_Aint *)word)[i]
                                                 : ((const int *)word)[i];
}

static int extent_of(MPI_Aint *out, MPI_Datatype type)
{
    *out = (MPI_Aint)mgds_type_basic_size(type);
    return *out > 0 ? 0 : mgds_coll_extent(out, type);
}

/* In elements, one behind the other; in extents; or in bytes. */
static int place(struct mgds_coll_block *block,
                 const struct mgds_coll_side *side,
                 const struct mgds_coll_call *call, const mgds_word *words,
                 int i)
{
    MPI_Aint extent = 1, at = i;
    bool over = false;

    if (side->displs != MGDS_COLL_NONE)
        at = displ_of(side, call, words, i);
    else
        over = __builtin_mul_overflow(at, block->count, &at);
    if (side->shape == MGDS_COLL_BLOCKS || side->shape == MGDS_COLL_LIST)
        if (extent_of(&extent, block->type) < 0)
            return -EINVAL;
    return over || __builtin_mul_overflow(at, extent, &block->offset)
               ? -EOVERFLOW
               : 0;
}

int mgds_coll_block(struct mgds_coll_block *out,
                    const struct mgds_coll_side *side,
                    const struct mgds_coll_call *call, const mgds_word *words,
                    int i)
{
    *out = (struct mgds_coll_block){.type = MPI_DATATYPE_NULL};
    if (lacks_arrays(side, words))
        return -EINVAL;
    out->count = count_of(side, call, words, i);
    if (out->count <= 0)
        return out->count < 0 ? -EINVAL : 0;
    out->type = type_of(side, words, i);
    return place(out, side, call, words, i);
}

MPI_Count mgds_coll_block_bytes(const struct mgds_coll_block *block)
{
    MPI_Count size = (MPI_Count)mgds_type_basic_size(block->type);

    if (block->count == 0)
        return 0;
    if (size == 0 &&
        (block->type == MPI_DATATYPE_NULL ||
         mgds_below()->Type_size_x(block->type, &size) != MPI_SUCCESS))
        return -EINVAL;
    return __builtin_mul_overflow(size, block->count, &size) ? -EOVERFLOW
                                                             : size;
}
