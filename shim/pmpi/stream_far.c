/* Two rounds in which each member has a block for each other one; see
 * stream_far.h. */
#include "shim/pmpi/stream_far.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/stream_roll.h"

/* Blocks for the members, and of them. */
struct round {
    char *mine, *theirs;
    size_t bytes; /* of one */
};

static bool make_round(struct round *round, size_t peers, size_t bytes)
{
    *round = (struct round){.mine = (char *)mgds_calloc(peers, bytes),
                            .theirs = (char *)mgds_calloc(peers, bytes),
                            .bytes = bytes};
    return round->mine && round->theirs;
}

static void free_round(struct round *round)
{
    free(round->mine);
    free(round->theirs);
}

static int swap_blocks(const struct round *round, MPI_Comm comm)
{
    return (int)MGDS_NEXT(Alltoall, 7)(
        (mgds_word)round->mine, (mgds_word)round->bytes, (mgds_word)MPI_BYTE,
        (mgds_word)round->theirs, (mgds_word)round->bytes, (mgds_word)MPI_BYTE,
        (mgds_word)comm);
}

static int share_offers(const struct mgds_scomm_roll *roll, MPI_Comm comm,
                        unsigned most, const struct round *offers)
{
    for (int i = 0; i < roll->peers; i++)
        mgds_channels_offer_far(roll->channels, (unsigned)i, most,
                                offers->mine + (size_t)i * offers->bytes);
    return swap_blocks(offers, comm);
}

/* What one end has joined and the other has not is of no use: a WRITE would
 * come to nobody. */
static int join_offers(const struct mgds_scomm_roll *roll, MPI_Comm comm,
                       unsigned most, const struct round *offers,
                       const struct round *joined)
{
    int rc;

    for (int i = 0; i < roll->peers; i++)
        mgds_channels_join_far(roll->channels, (unsigned)i, most,
                               offers->theirs + (size_t)i * offers->bytes,
                               joined->mine + (size_t)i * joined->bytes);
    rc = swap_blocks(joined, comm);
    for (int i = 0; i < roll->peers && rc == MPI_SUCCESS; i++)
        mgds_channels_open_far(roll->channels, (unsigned)i, most,
                               joined->theirs + (size_t)i * joined->bytes);
    return rc;
}

int mgds_far_share(struct mgds_scomm_roll *roll, MPI_Comm comm, unsigned most)
{
    const size_t peers = (size_t)roll->peers;
    struct round offers, joined;
    uint64_t short_of_memory =
        !make_round(&offers, peers, mgds_channels_far_bytes(most));
    int rc;

    short_of_memory |=
        !make_round(&joined, peers, mgds_channels_joined_bytes(most));
    rc = mgds_agree(comm, &short_of_memory, 1);
    if (rc == MPI_SUCCESS && short_of_memory)
        rc = -ENOMEM;
    if (rc == MPI_SUCCESS)
        rc = share_offers(roll, comm, most, &offers);
    if (rc == MPI_SUCCESS)
        rc = join_offers(roll, comm, most, &offers, &joined);
    free_round(&offers);
    free_round(&joined);
    return rc;
}
