/*
 * Which buffers of a collective mean something on this rank (MPI-4 chapter 6):
 * words and facts in, parts out. Calls nothing.
 */
#include <mpi.h>

#include "shim/pmpi/coll.h"

static const void *address(const mgds_word *words,
                           const struct mgds_coll_side *side)
{
    return (const void *)words[side->addr];
}

static bool is_root(const struct mgds_coll_facts *facts, int root)
{
    return facts->remote ? root == MPI_ROOT : root == facts->rank;
}

/* Does the rank give to or get from a root? On an intercommunicator those of
   the root's own group do not. */
static bool has_root(const struct mgds_coll_facts *facts, int root)
{
    return !facts->remote || root >= 0;
}

static bool is_significant(const struct mgds_coll_side *side,
                           const struct mgds_coll_facts *facts, int root)
{
    switch (side->who) {
    case MGDS_COLL_ROOT:
        return is_root(facts, root);
    case MGDS_COLL_LEAF:
        return has_root(facts, root);
    case MGDS_COLL_OTHERS:
        return has_root(facts, root) && !is_root(facts, root);
    case MGDS_COLL_NOT_FIRST:
        return facts->rank != 0;
    default:
        return true;
    }
}

static int many(const struct mgds_coll_side *side,
                const struct mgds_coll_facts *facts)
{
    switch (side->many) {
    case MGDS_COLL_GROUP:
        return facts->remote ? facts->remote : facts->size;
    case MGDS_COLL_LOCAL:
        return facts->size;
    case MGDS_COLL_OUT:
        return facts->out;
    case MGDS_COLL_IN:
        return facts->in;
    default:
        return 1;
    }
}

static void set_part(struct mgds_coll_part *part,
                     const struct mgds_coll_side *side,
                     const struct mgds_coll_facts *facts)
{
    part->side = *side;
    part->many = many(side, facts);
    part->down = MGDS_COLL_NOTHING;
    part->up = MGDS_COLL_NOTHING;
}

/* The receive buffer, when it holds what the rank sends, too. */
static void set_in_place(struct mgds_coll_part *part,
                         const struct mgds_coll_row *row,
                         const struct mgds_coll_facts *facts)
{
    set_part(part, &row->recv, facts);
    part->down = row->in_place == MGDS_COLL_OWN ? MGDS_COLL_OWN_BLOCK
                                                : MGDS_COLL_ALL_OF_IT;
    part->up = MGDS_COLL_ALL_OF_IT;
    if (row->in_place == MGDS_COLL_ALIKE) {
        set_part(part, &row->send, facts);
        part->side.addr = row->recv.addr;
        part->down = MGDS_COLL_ALL_OF_IT;
        part->up = MGDS_COLL_FIRST_BLOCK;
    }
    /* Exscan: rank 0 gives, and gets nothing. */
    if (row->recv.who == MGDS_COLL_NOT_FIRST && facts->rank == 0)
        part->up = MGDS_COLL_NOTHING;
}

static void set_receive(struct mgds_coll_part *part,
                        const struct mgds_coll_row *row,
                        const struct mgds_coll_facts *facts)
{
    set_part(part, &row->recv, facts);
    part->up = MGDS_COLL_ALL_OF_IT;
    if (row->in_place == MGDS_COLL_ADDED || facts->gaps)
        part->down = MGDS_COLL_ALL_OF_IT;
}

int mgds_coll_plan(struct mgds_coll_part parts[MGDS_COLL_PARTS],
                   const struct mgds_coll_row *row,
                   const struct mgds_coll_facts *facts, const mgds_word *words)
{
    int root = row->root == MGDS_COLL_NONE ? 0 : (int)words[row->root];
    bool sends = is_significant(&row->send, facts, root);
    bool receives = is_significant(&row->recv, facts, root);
    int count = 0;

    if (sends && address(words, &row->send) == MPI_IN_PLACE) {
        if (receives || row->recv.who == MGDS_COLL_NOT_FIRST)
            set_in_place(&parts[count++], row, facts);
        return count;
    }
    if (sends) {
        set_part(&parts[count], &row->send, facts);
        parts[count++].down = MGDS_COLL_ALL_OF_IT;
    }
    if (receives && address(words, &row->recv) != MPI_IN_PLACE)
        set_receive(&parts[count++], row, facts);
    return count;
}
