/*
 * Buffers without displacements: blocks one behind the other, which are one
 * run of elements. A MIRROR stands for them, whatever it costs: coll_stage.h.
 */
#include "shim/pmpi/coll_stage.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "shim/gds/mem/bounce.h"
#include "shim/pmpi/buffer.h"

/* In elements. */
struct run {
    MPI_Count total;
    MPI_Count before; /* the rank's own block */
    MPI_Count block;  /* and its length; of BLOCKS, every one's */
};

long long mgds_coll_count(const struct mgds_coll_call *call, mgds_word counts,
                          int i)
{
    return call->large ? ((const MPI_Count *)counts)[i]
                       : ((const int *)counts)[i];
}

struct mgds_coll_bytes mgds_coll_bytes(enum mgds_coll_range range,
                                       struct mgds_coll_bytes own)
{
    switch (range) {
    case MGDS_COLL_ALL_OF_IT:
        return (struct mgds_coll_bytes){0, SIZE_MAX};
    case MGDS_COLL_OWN_BLOCK:
        return own;
    case MGDS_COLL_FIRST_BLOCK:
        return (struct mgds_coll_bytes){0, own.bytes};
    default:
        return (struct mgds_coll_bytes){0, 0};
    }
}

static void find_blocks(struct run *run, const struct mgds_coll_part *part,
                        const struct mgds_coll_site *site, mgds_word word)
{
    run->block = site->call->large ? (MPI_Count)word : (int)word;
    run->before = 0;
    if (part->down == MGDS_COLL_OWN_BLOCK)
        run->before = site->rank * run->block;
    /* Beyond 64 bits is no memory: the MPI below will say what it thinks. */
    if (__builtin_mul_overflow(run->block, part->many, &run->total))
        run->total = -1;
}

static void find_counts(struct run *run, const struct mgds_coll_part *part,
                        const struct mgds_coll_site *site, mgds_word counts)
{
    run->block = mgds_coll_count(site->call, counts, site->rank);
    run->before = 0;
    run->total = run->block;
    if (part->side.shape == MGDS_COLL_MINE)
        return;
    run->total = 0;
    for (int i = 0; i < part->many; i++) {
        MPI_Count count = mgds_coll_count(site->call, counts, i);

        if (i < site->rank)
            run->before += count;
        run->total += count;
    }
}

static void find_run(struct run *run, const struct mgds_coll_part *part,
                     const struct mgds_coll_site *site, const mgds_word *words)
{
    mgds_word count = words[part->side.count];

    if (part->side.shape == MGDS_COLL_BLOCKS)
        find_blocks(run, part, site, count);
    else
        find_counts(run, part, site, count);
}

static int stage_run(struct mgds_coll_staged *out,
                     const struct mgds_coll_part *part,
                     const struct mgds_coll_site *site, mgds_word *words)
{
    struct mgds_coll_staged staged = {.displs = NULL};
    struct mgds_coll_bytes own;
    struct mgds_buffer buffer;
    struct run run;
    int rc;

    find_run(&run, part, site, words);
    rc = mgds_buffer_look(&buffer, (const void *)words[part->side.addr],
                          run.total, (MPI_Datatype)words[part->side.type]);
    if (rc <= 0)
        return rc;
    own.first = (size_t)run.before * buffer.layout->size;
    own.bytes = (size_t)run.block * buffer.layout->size;
    rc = mgds_buffer_stage(&staged.bounce, &buffer, MGDS_BOUNCE_MIRROR);
    mgds_buffer_put(&buffer);
    if (rc < 0)
        return rc;
    words[part->side.addr] = (mgds_word)mgds_bounce_base(staged.bounce);
    staged.down = mgds_coll_bytes(part->down, own);
    staged.up = mgds_coll_bytes(part->up, own);
    *out = staged;
    return 1;
}

int mgds_coll_stage(struct mgds_coll_staged *out,
                    const struct mgds_coll_part *part,
                    const struct mgds_coll_site *site, mgds_word *words)
{
    if (part->side.displs != MGDS_COLL_NONE)
        return mgds_coll_stage_list(out, part, site, words);
    return stage_run(out, part, site, words);
}

void mgds_coll_unstage(struct mgds_coll_staged *staged)
{
    mgds_bounce_destroy(staged->bounce);
    free(staged->displs);
}
