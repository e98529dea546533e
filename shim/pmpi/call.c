/* Calls as their words. */
#include "shim/pmpi/call.h"

#include <limits.h>

#include "shim/pmpi/frame.h"
#include "shim/pmpi/next.h"

MPI_Count mgds_call_count(const struct mgds_call_words *call, unsigned at)
{
    return call->large ? (MPI_Count)call->word[at] : (int)call->word[at];
}

int mgds_call_side(struct mgds_side *side, const struct mgds_call_words *call,
                   unsigned at, enum mgds_side_way way)
{
    return mgds_side_init(side, (const void *)call->word[at],
                          mgds_call_count(call, at + 1),
                          (MPI_Datatype)call->word[at + 2], way);
}

void mgds_call_put(struct mgds_call_words *call, unsigned at,
                   const struct mgds_side *side)
{
    call->grown |= !call->large && side->count > INT_MAX;
    call->word[at] = (mgds_word)side->addr;
    call->word[at + 1] = (mgds_word)side->count;
    call->word[at + 2] = (mgds_word)side->type;
}

static mgds_word apply(mgds_next_fn *fn, const struct mgds_call_words *call)
{
    const mgds_word *w = call->word;

    switch (call->words) {
    case 5:
        return ((MGDS_FN(5) *)fn)(w[0], w[1], w[2], w[3], w[4]);
    case 6:
        return ((MGDS_FN(6) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5]);
    case 7:
        return ((MGDS_FN(7) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
    case 9:
        return ((MGDS_FN(9) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                  w[7], w[8]);
    case 8:
        return ((MGDS_FN(8) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                  w[7]);
    case 10:
        return ((MGDS_FN(10) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                   w[7], w[8], w[9]);
    case 13:
        return ((MGDS_FN(13) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                   w[7], w[8], w[9], w[10], w[11], w[12]);
    default:
        return ((MGDS_FN(12) *)fn)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                   w[7], w[8], w[9], w[10], w[11]);
    }
}

mgds_word mgds_call_forward(const struct mgds_call_words *call)
{
    return apply(call->grown ? mgds_next(call->twin, MGDS_FACE_PMPI)
                             : mgds_frame_next(),
                 call);
}

MPI_Status *mgds_call_status(struct mgds_call_words *call, unsigned at,
                             MPI_Status *spare)
{
    if ((MPI_Status *)call->word[at] == MPI_STATUS_IGNORE)
        call->word[at] = (mgds_word)spare;
    return (MPI_Status *)call->word[at];
}
