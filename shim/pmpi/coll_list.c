/*
 * Buffers with displacements: blocks anywhere. Together they are one layout,
 * and one bounce stands for it: a MIRROR, so that the caller's arrays serve as
 * they are; but when blocks without gaps lie so far apart that this would cost
 * more than twice the data, a PACKED one, with displacements of our own.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/mem/bounce.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/coll_block.h"
#include "shim/pmpi/coll_stage.h"
#include "shim/pmpi/types.h"

/* The blocks that are not empty. */
struct blocks {
    char *addr;
    int count;
    size_t *length;    /* in elements; the one allocation begins here */
    ptrdiff_t *offset; /* in bytes from addr on */
    struct mgds_layout **layout; /* of one element, or NULL */
    MPI_Datatype *type;
    int *index; /* among all blocks */
};

static int alloc_blocks(struct blocks *blocks, int room)
{
    size_t n = (size_t)room;
    char *memory = mgds_calloc(n + !n, 3 * sizeof(size_t) + 2 * sizeof(int));

    if (!memory)
        return -ENOMEM;
    blocks->length = (size_t *)(void *)memory;
    blocks->offset = (ptrdiff_t *)(void *)(blocks->length + n);
    blocks->layout = (struct mgds_layout **)(void *)(blocks->offset + n);
    blocks->type = (MPI_Datatype *)(void *)(blocks->layout + n);
    blocks->index = (int *)(void *)(blocks->type + n);
    blocks->count = 0;
    return 0;
}

static void free_blocks(struct blocks *blocks)
{
    for (int i = 0; i < blocks->count; i++)
        mgds_layout_put(blocks->layout[i]);
    free(blocks->length);
}

/* The arguments of a part that has them. */
struct list {
    const struct mgds_coll_part *part;
    const struct mgds_coll_site *site;
    mgds_word *words;
};

static bool has_types(const struct list *list)
{
    return list->part->side.shape != MGDS_COLL_LIST;
}

static bool has_wide_displs(const struct list *list)
{
    return mgds_coll_has_wide_displs(&list->part->side, list->site->call);
}

static int read_block(struct blocks *blocks, const struct list *list, int i)
{
    struct mgds_coll_block block;
    int at = blocks->count;
    int rc = mgds_coll_block(&block, &list->part->side, list->site->call,
                             list->words, i);

    if (rc < 0 || block.count == 0)
        return rc;
    blocks->offset[at] = block.offset;
    blocks->length[at] = (size_t)block.count;
    blocks->type[at] = block.type;
    blocks->index[at] = i;
    blocks->count++;
    return 0;
}

/* -EINVAL: the MPI below will refuse the arguments. */
static int read_blocks(struct blocks *blocks, const struct list *list)
{
    int rc = alloc_blocks(blocks, list->part->many);

    if (rc < 0)
        return rc;
    blocks->addr = (char *)list->words[list->part->side.addr];
    for (int i = 0; rc == 0 && i < list->part->many; i++)
        rc = read_block(blocks, list, i);
    if (rc < 0)
        free_blocks(blocks);
    return rc;
}

/*
 * The first block that is GPU memory decides for all: one buffer is one
 * allocation, but for absolute addresses, which the copies reach all the same.
 */
static int look_at_blocks(struct mgds_ptr *ptr, const struct blocks *blocks)
{
    struct mgds_buffer buffer;
    int rc = 0;

    for (int i = 0; rc == 0 && i < blocks->count; i++) {
        uintptr_t at = (uintptr_t)blocks->addr + (uintptr_t)blocks->offset[i];

        rc = mgds_buffer_look(&buffer, (const void *)at,
                              (MPI_Count)blocks->length[i], blocks->type[i]);
    }
    if (rc <= 0)
        return rc;
    *ptr = buffer.ptr;
    mgds_buffer_put(&buffer);
    return 1;
}

static int make_layout(struct mgds_layout **out, struct blocks *blocks)
{
    for (int i = 0; i < blocks->count; i++) {
        int rc = mgds_type_layout(&blocks->layout[i], blocks->type[i]);

        if (rc < 0)
            return rc;
    }
    return mgds_layout_struct(out, (size_t)blocks->count, blocks->length,
                              blocks->offset, blocks->layout);
}

static size_t bytes_of(const struct blocks *blocks, int i)
{
    return blocks->length[i] * blocks->layout[i]->size;
}

/* Blocks that look the same with nothing between them, and are worth moving;
   can the displacements say it? */
static bool is_packable(const struct blocks *blocks, const struct list *list,
                        const struct mgds_layout *layout)
{
    for (int i = 0; i < blocks->count; i++)
        if (!mgds_layout_is_dense(blocks->layout[i]))
            return false;
    return (size_t)layout->true_extent / 2 > layout->size &&
           (has_wide_displs(list) || layout->size <= INT_MAX);
}

static void put_number(void *array, bool wide, int i, size_t value)
{
    if (wide)
        ((MPI_Aint *)array)[i] = (MPI_Aint)value;
    else
        ((int *)array)[i] = (int)value;
}

/* The blocks one behind the other. */
static int replace_displs(struct mgds_coll_staged *staged,
                          const struct blocks *blocks, const struct list *list)
{
    void *displs = mgds_calloc((size_t)list->part->many, sizeof(MPI_Aint));
    size_t before = 0;

    if (!displs)
        return -ENOMEM;
    for (int i = 0; i < blocks->count; i++) {
        put_number(displs, has_wide_displs(list), blocks->index[i], before);
        before += has_types(list) ? bytes_of(blocks, i) : blocks->length[i];
    }
    list->words[list->part->side.displs] = (mgds_word)displs;
    staged->displs = displs;
    return 0;
}

/*
 * MPICH 4.0.2 takes the displacement of Allgatherv for 0 when there is one rank
 * (host memory shows the same). The memory of a bounce begins with the data, so
 * the address says where the only block is, and the displacement is 0.
 */
static void replace_only_block(const struct blocks *blocks,
                               const struct list *list)
{
    static const MPI_Aint zero[1]; /* as an int, too */
    const struct mgds_coll_side *side = &list->part->side;

    list->words[side->addr] += (mgds_word)blocks->offset[0];
    list->words[side->displs] = (mgds_word)zero;
}

static int make_bounce(struct mgds_coll_staged *staged,
                       const struct blocks *blocks, const struct list *list,
                       const struct mgds_buffer *buffer)
{
    bool packed = is_packable(blocks, list, buffer->layout);
    int rc =
        mgds_buffer_stage(&staged->bounce, buffer,
                          packed ? MGDS_BOUNCE_PACKED : MGDS_BOUNCE_MIRROR);

    if (rc < 0)
        return rc;
    if (packed)
        rc = replace_displs(staged, blocks, list);
    if (rc < 0)
        goto destroy_bounce;
    list->words[list->part->side.addr] =
        (mgds_word)mgds_bounce_base(staged->bounce);
    if (!packed && list->part->many == 1)
        replace_only_block(blocks, list);
    return 0;
destroy_bounce:
    mgds_bounce_destroy(staged->bounce);
    return rc;
}

static struct mgds_coll_bytes own_block(const struct blocks *blocks, int rank)
{
    struct mgds_coll_bytes own = {0, 0};

    for (int i = 0; i < blocks->count && blocks->index[i] <= rank; i++) {
        if (blocks->index[i] == rank)
            own.bytes = bytes_of(blocks, i);
        else
            own.first += bytes_of(blocks, i);
    }
    return own;
}

static int stage_blocks(struct mgds_coll_staged *staged, struct blocks *blocks,
                        const struct list *list)
{
    struct mgds_buffer buffer = {.addr = blocks->addr, .count = 1};
    struct mgds_coll_bytes own;
    int rc = look_at_blocks(&buffer.ptr, blocks);

    if (rc <= 0)
        return rc;
    rc = make_layout(&buffer.layout, blocks);
    if (rc < 0)
        return rc;
    rc = make_bounce(staged, blocks, list, &buffer);
    mgds_layout_put(buffer.layout);
    if (rc < 0)
        return rc;
    own = own_block(blocks, list->site->rank);
    staged->down = mgds_coll_bytes(list->part->down, own);
    staged->up = mgds_coll_bytes(list->part->up, own);
    return 1;
}

int mgds_coll_stage_list(struct mgds_coll_staged *out,
                         const struct mgds_coll_part *part,
                         const struct mgds_coll_site *site, mgds_word *words)
{
    struct list list = {.part = part, .site = site, .words = words};
    struct mgds_coll_staged staged = {.displs = NULL};
    struct blocks blocks;
    int rc = read_blocks(&blocks, &list);

    if (rc == 0) {
        rc = stage_blocks(&staged, &blocks, &list);
        free_blocks(&blocks);
    }
    if (rc == 1)
        *out = staged;
    return rc == -EINVAL ? 0 : rc;
}
