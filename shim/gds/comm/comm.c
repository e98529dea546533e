/* Communicators: made, found, forgotten; see comm.h and comm_state.h. */
#include "shim/gds/comm/comm.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "shim/base/hash.h"
#include "shim/gds/proto/credit.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/watched.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/stream/gstream.h"

/* Under the engine's lock, as all of the following. */
static struct mgds_comms comms = LIST_HEAD_INITIALIZER(comms);

/* By their ids: more than MPI has communicators for, so none is long. */
enum { HASH_BITS = 11 };
static LIST_HEAD(alike, mgds_comm) hashed[1 << HASH_BITS];
static uint64_t commands;

static struct alike *alike_of(uint64_t id)
{
    return &hashed[id * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HASH_BITS)];
}

struct mgds_comm *mgds_comm_find(uint64_t id)
{
    struct mgds_comm *comm = LIST_FIRST(alike_of(id));

    for (; comm && comm->id != id; comm = LIST_NEXT(comm, alike))
        commands++;
    commands++;
    return comm;
}

uint64_t mgds_comm_steps(void)
{
    return commands;
}

/* Under the engine's lock. */
static struct mgds_hash gone; /* their ids, and no more */

bool mgds_comm_is_gone(uint64_t id)
{
    return mgds_hash_find(&gone, id) != NULL;
}

const struct mgds_comms *mgds_comms_all(void)
{
    return &comms;
}

/* The communicator is gone; without memory nobody remembers that. */
static void remember_id(const struct mgds_comm *comm)
{
    mgds_hash_put(&gone, comm->id, &gone);
}

void mgds_comm_lose(struct mgds_comm *comm, unsigned rank, int error)
{
    if (error == 0 || comm->member[rank].lost)
        return;
    comm->member[rank].lost = error;
    if (!mgds_comm_is_other(comm, rank))
        return;
    comm->others--;
    comm->wildcards.living -=
        comm->member[rank].subscription == MGDS_SUBSCRIPTION_SUBSCRIBED;
}

/* Is nobody left but this process itself, where there were others? */
static bool is_alone(const struct mgds_comm *comm)
{
    return comm->others == 0 && comm->peers > !comm->inter;
}

int mgds_comm_lost(const struct mgds_comm *comm, int rank)
{
    if (rank >= 0)
        return comm->member[rank].lost;
    return is_alone(comm) ? -ENOTCONN : 0;
}

void mgds_comm_get(struct mgds_comm *comm)
{
    __atomic_fetch_add(&comm->refs, 1, __ATOMIC_RELAXED);
}

/* Records of messages that nobody received. */
static void free_message(void *comm, struct mgds_match_send *send)
{
    (void)comm;
    mgds_engine_enter();
    mgds_message_drop((struct mgds_message *)(void *)send);
    mgds_engine_leave();
}

void mgds_comm_destroy(struct mgds_comm *comm)
{
    for (unsigned i = 0; comm->match && i < (comm->streams + !comm->streams);
         i++) {
        if (comm->match[i])
            mgds_match_clear(comm->match[i], free_message, NULL);
        mgds_match_destroy(comm->match[i]);
    }
    for (unsigned i = 0; comm->member && i < comm->peers; i++)
        if (comm->member[i].peer)
            mgds_wire_peer_put(comm->member[i].peer);
    for (unsigned i = 0; comm->stream && i < comm->streams; i++)
        if (comm->stream[i])
            mgds_gstream_release(comm->stream[i]);
    mgds_channels_put(comm->channels);
    mgds_fifos_fini(&comm->pulls);
    free(comm->match);
    free(comm->member);
    free(comm->stream);
    free(comm->base);
    free(comm->sent);
    mgds_debt_pay(&comm->owed, NULL);
    free(comm);
}

void mgds_comm_list(struct mgds_comm *comm)
{
    LIST_INSERT_HEAD(&comms, comm, link);
    LIST_INSERT_HEAD(alike_of(comm->id), comm, alike);
    comm->listed = true;
}

static bool unlist_comm(struct mgds_comm *comm)
{
    if (!comm->listed)
        return false;
    LIST_REMOVE(comm, link);
    LIST_REMOVE(comm, alike);
    comm->listed = false;
    return true;
}

void mgds_comm_release(struct mgds_comm *comm)
{
    if (__atomic_sub_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    mgds_engine_enter();
    if (unlist_comm(comm))
        remember_id(comm);
    mgds_work_cancel(&comm->wildcards.greeting);
    mgds_watched_forget(comm);
    if (comm->member)
        mgds_credit_end(comm);
    mgds_am_replay(); /* forgets what came for it */
    mgds_engine_leave();
    mgds_comm_destroy(comm);
}

void mgds_comm_set_name(struct mgds_comm *comm, const char *name)
{
    size_t i = 0;

    mgds_engine_enter();
    for (; name[i] && i + 1 < sizeof(comm->name); i++)
        comm->name[i] = (char)(iscntrl((unsigned char)name[i]) ? '?' : name[i]);
    comm->name[i] = '\0';
    mgds_engine_leave();
}

/* Of those that MPI has freed. */
static struct mgds_debt stray;

struct mgds_debt *mgds_comm_debt(struct mgds_comm *comm)
{
    return comm->astray ? &stray : &comm->owed;
}

void mgds_comm_go_astray(struct mgds_comm *comm)
{
    mgds_engine_enter();
    comm->astray = true;
    mgds_debt_pass(&stray, &comm->owed);
    mgds_engine_leave();
}

static int pay_debt(struct mgds_debt *debt, struct mgds_failure *out)
{
    int error;

    if (!mgds_debt_is_due(debt))
        return 0;
    mgds_engine_enter();
    error = mgds_debt_pay(debt, out);
    mgds_engine_leave();
    return error;
}

bool mgds_comm_owes(const struct mgds_comm *comm)
{
    return mgds_debt_is_due(&comm->owed) || mgds_debt_is_due(&stray);
}

int mgds_comms_take_error(struct mgds_failure *out)
{
    return pay_debt(&stray, out);
}

int mgds_comm_take_error(struct mgds_comm *comm, struct mgds_failure *out)
{
    return pay_debt(&comm->owed, out);
}

void mgds_comms_forget(void)
{
    struct mgds_comm *comm;

    while ((comm = LIST_FIRST(&comms)) != NULL) {
        remember_id(comm);
        unlist_comm(comm);
    }
}
