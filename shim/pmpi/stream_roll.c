/* Who is in a stream communicator. All of MPI here are collectives of the
 * communicator below. */
#include "shim/pmpi/stream_roll.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/stream_far.h"

/* What a member sends; the address follows. */
struct slot {
    uint64_t process, host;
    uint32_t streams, far;
    uint32_t address_bytes, reserved;
};

static bool is_inter(MPI_Comm comm)
{
    int inter = 0;

    MGDS_NEXT(Comm_test_inter, 2)((mgds_word)comm, (mgds_word)&inter);
    return inter;
}

static int reduce_max(MPI_Comm comm, uint64_t value[], int count)
{
    uint64_t most[MGDS_AGREE_MOST];
    int rc = (int)MGDS_NEXT(Allreduce, 6)(
        (mgds_word)value, (mgds_word)most, (mgds_word)count,
        (mgds_word)MPI_UINT64_T, (mgds_word)MPI_MAX, (mgds_word)comm);

    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        if (most[i] > value[i])
            value[i] = most[i];
    return rc;
}

/* Between groups a reduction tells of the other one. The second brings back
 * what the first told them of ours. */
int mgds_agree(MPI_Comm comm, uint64_t value[], int count)
{
    int rc = reduce_max(comm, value, count);

    if (rc == MPI_SUCCESS && is_inter(comm))
        rc = reduce_max(comm, value, count);
    return rc;
}

int mgds_agreed(int mine, bool failed)
{
    if (mine != MPI_SUCCESS)
        return mine;
    if (!failed)
        return MPI_SUCCESS;
    return mgds_mpi_code_of(-EREMOTEIO);
}

size_t mgds_roll_slot(size_t address_bytes)
{
    size_t whole = sizeof(struct slot) + address_bytes;

    return (whole + 7) & ~(size_t)7;
}

static int ask(enum mgds_call call, MPI_Comm comm)
{
    int value = 0;

    ((MGDS_FN(2) *)mgds_next(call, MGDS_FACE_PMPI))((mgds_word)comm,
                                                    (mgds_word)&value);
    return value;
}

static int tag_ub(MPI_Comm comm)
{
    int *value = NULL;
    int flag = 0;

    MGDS_NEXT(Comm_get_attr, 4)
    ((mgds_word)comm, (mgds_word)MPI_TAG_UB, (mgds_word)&value,
     (mgds_word)&flag);
    return flag ? *value : 32767;
}

static struct mgds_scomm_roll *roll_of(MPI_Comm comm, size_t slot_bytes)
{
    struct mgds_scomm_roll *roll = mgds_calloc(1, sizeof(*roll));
    size_t peers;

    if (!roll)
        return NULL;
    roll->refs = 1;
    roll->inter = is_inter(comm);
    roll->rank = ask(MGDS_CALL_Comm_rank, comm);
    roll->size = ask(MGDS_CALL_Comm_size, comm);
    roll->peers =
        roll->inter ? ask(MGDS_CALL_Comm_remote_size, comm) : roll->size;
    roll->tag_ub = tag_ub(comm);
    peers = (size_t)roll->peers;
    roll->members = mgds_calloc(peers, sizeof(*roll->members));
    roll->slots = mgds_malloc(peers * slot_bytes);
    if (roll->members && roll->slots)
        return roll;
    mgds_roll_put(roll);
    return NULL;
}

static void read_slots(struct mgds_scomm_roll *roll, size_t slot_bytes)
{
    for (int i = 0; i < roll->peers; i++) {
        const char *at = roll->slots + (size_t)i * slot_bytes;
        struct slot slot;

        memcpy(&slot, at, sizeof(slot));
        roll->members[i] =
            (struct mgds_member){.address = at + sizeof(slot),
                                 .address_bytes = slot.address_bytes,
                                 .process = slot.process,
                                 .streams = slot.streams,
                                 .host = slot.host,
                                 .far = slot.far != 0};
    }
}

static void fill_slot(char *at, const struct mgds_member *mine)
{
    struct slot slot = {mine->process,
                        mine->host,
                        mine->streams,
                        mine->far,
                        (uint32_t)mine->address_bytes,
                        0};

    memcpy(at, &slot, sizeof(slot));
    memcpy(at + sizeof(slot), mine->address, mine->address_bytes);
}

static int gather(MPI_Comm comm, const char *mine, char *all, size_t bytes)
{
    return (int)MGDS_NEXT(Allgather, 7)(
        (mgds_word)mine, (mgds_word)bytes, (mgds_word)MPI_BYTE, (mgds_word)all,
        (mgds_word)bytes, (mgds_word)MPI_BYTE, (mgds_word)comm);
}

/* Whoever has no memory says so while all still listen. */
int mgds_roll_call(struct mgds_scomm_roll **out, MPI_Comm comm,
                   const struct mgds_member *mine, size_t slot_bytes)
{
    struct mgds_scomm_roll *roll = roll_of(comm, slot_bytes);
    char *slot = mgds_calloc(1, slot_bytes);
    uint64_t short_of_memory = !roll || !slot;
    int rc = mgds_agree(comm, &short_of_memory, 1);

    if (rc == MPI_SUCCESS && (short_of_memory || !roll || !slot))
        rc = -ENOMEM;
    if (rc != MPI_SUCCESS)
        goto drop;
    fill_slot(slot, mine);
    rc = gather(comm, slot, roll->slots, slot_bytes);
    if (rc != MPI_SUCCESS)
        goto drop;
    read_slots(roll, slot_bytes);
    free(slot);
    *out = roll;
    return MPI_SUCCESS;
drop:
    free(slot);
    mgds_roll_put(roll);
    return rc;
}

/* All members see the same, so all do the same. */
static unsigned most_streams(const struct mgds_scomm_roll *roll)
{
    unsigned most = 0;

    for (int i = 0; i < roll->peers; i++)
        if (roll->members[i].host != 0 && roll->members[i].streams > most)
            most = roll->members[i].streams;
    return roll->inter ? 0 : most;
}

/* What members give each other, as MPI_Alltoallv has it: sent and received
 * alike. */
struct offers {
    int *bytes, *at;
    char *sent, *received;
};

static void free_offers(struct offers *offers)
{
    free(offers->bytes);
    free(offers->at);
    free(offers->sent);
    free(offers->received);
}

static int make_offers(struct offers *offers,
                       const struct mgds_scomm_roll *roll)
{
    size_t peers = (size_t)roll->peers, all = 0;

    offers->bytes = mgds_calloc(peers, sizeof(int));
    offers->at = mgds_calloc(peers, sizeof(int));
    for (size_t i = 0; i < peers && offers->bytes && offers->at; i++) {
        size_t bytes = mgds_channels_offer_bytes(roll->channels, (unsigned)i);

        offers->bytes[i] = (int)bytes;
        offers->at[i] = (int)all;
        all += bytes;
    }
    offers->sent = mgds_malloc(all + 1);
    offers->received = mgds_malloc(all + 1);
    return offers->bytes && offers->at && offers->sent && offers->received
               ? 0
               : -ENOMEM;
}

static int swap_offers(const struct offers *offers,
                       const struct mgds_scomm_roll *roll, MPI_Comm comm)
{
    int rc;

    for (int i = 0; i < roll->peers; i++)
        mgds_channels_write_offer(roll->channels, (unsigned)i,
                                  offers->sent + offers->at[i]);
    rc = (int)MGDS_NEXT(Alltoallv, 9)(
        (mgds_word)offers->sent, (mgds_word)offers->bytes,
        (mgds_word)offers->at, (mgds_word)MPI_BYTE, (mgds_word)offers->received,
        (mgds_word)offers->bytes, (mgds_word)offers->at, (mgds_word)MPI_BYTE,
        (mgds_word)comm);
    for (int i = 0; i < roll->peers && rc == MPI_SUCCESS; i++)
        mgds_channels_take_offer(roll->channels, (unsigned)i,
                                 offers->received + offers->at[i]);
    return rc;
}

/* Collective. Nobody is done, and may stand, before all have what they need. */
static int settle(const struct mgds_scomm_roll *roll, MPI_Comm comm)
{
    struct offers offers = {.bytes = NULL};
    /* whether somebody has no memory, so that nobody gets any; and whether
     * there is anything to get */
    uint64_t word[2] = {make_offers(&offers, roll) < 0,
                        mgds_channels_offer(roll->channels)};
    int rc = mgds_agree(comm, word, 2);
    bool swaps = rc == MPI_SUCCESS && word[0] == 0 && word[1] != 0;

    if (swaps)
        rc = swap_offers(&offers, roll, comm);
    free_offers(&offers);
    if (rc != MPI_SUCCESS)
        return rc;
    mgds_channels_settle(roll->channels);
    return swaps ? mgds_agree(comm, word, 1) : MPI_SUCCESS;
}

/* Collective. */
static int exchange(struct mgds_scomm_roll *roll, MPI_Comm comm, size_t bytes)
{
    char *mine = mgds_calloc(1, bytes);
    char *all = mgds_malloc(bytes * (size_t)roll->peers);
    uint64_t short_of_memory = !mine || !all || !roll->channels;
    int rc = mgds_agree(comm, &short_of_memory, 1);

    if (rc == MPI_SUCCESS && (short_of_memory || !mine || !all))
        rc = -ENOMEM;
    if (rc == MPI_SUCCESS) {
        mgds_channels_describe(roll->channels, mine);
        rc = gather(comm, mine, all, bytes);
    }
    for (int i = 0; i < roll->peers && rc == MPI_SUCCESS; i++)
        mgds_channels_connect(roll->channels, (unsigned)i,
                              all + (size_t)i * bytes);
    if (rc == MPI_SUCCESS)
        rc = settle(roll, comm);
    free(mine);
    free(all);
    return rc;
}

int mgds_roll_share(struct mgds_scomm_roll *roll, MPI_Comm comm,
                    struct mgds_gstream **streams, unsigned count)
{
    const struct mgds_comm_spec spec = {.rank = (unsigned)roll->rank,
                                        .size = (unsigned)roll->size,
                                        .streams = streams,
                                        .stream_count = count,
                                        .members = roll->members};
    unsigned most = most_streams(roll);
    int rc;

    if (most == 0)
        return MPI_SUCCESS;
    rc = mgds_channels_create(&roll->channels, &spec);
    if (rc < 0)
        mgds_debug("no memory for rings");
    rc = exchange(roll, comm, mgds_channels_description(most));
    if (rc == MPI_SUCCESS &&
        mgds_channels_are_far(roll->members, (unsigned)roll->peers))
        rc = mgds_far_share(roll, comm, most);
    return rc;
}

void mgds_roll_get(struct mgds_scomm_roll *roll)
{
    __atomic_fetch_add(&roll->refs, 1, __ATOMIC_RELAXED);
}

void mgds_roll_put(struct mgds_scomm_roll *roll)
{
    if (!roll || __atomic_sub_fetch(&roll->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    mgds_channels_put(roll->channels);
    free(roll->members);
    free(roll->slots);
    free(roll);
}
