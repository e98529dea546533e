/* Communicators are made; see comm.h and comm_state.h. */
#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/gds/proto/credit.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/pair.h"
#include "shim/gds/comm/watch.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/stream/gstream.h"

static int allocate_members(struct mgds_comm *comm)
{
    size_t own = comm->streams ? comm->streams : 1;

    comm->stream =
        (struct mgds_gstream **)mgds_calloc(own, sizeof(struct mgds_gstream *));
    comm->member = (struct mgds_comm_member *)mgds_calloc(
        comm->peers, sizeof(comm->member[0]));
    comm->match =
        (struct mgds_match **)mgds_calloc(own, sizeof(struct mgds_match *));
    comm->sent =
        (uint64_t *)mgds_calloc(own * comm->sources, sizeof(comm->sent[0]));
    for (size_t i = 0; comm->sent && i < own * comm->sources; i++)
        comm->sent[i] = MGDS_COUNT_FROM;
    return comm->stream && comm->member && comm->match && comm->sent ? 0
                                                                     : -ENOMEM;
}

/* Where each member's sources begin: one for each of its streams, at least
 * one. */
static int set_base(struct mgds_comm *comm, const struct mgds_comm_spec *spec)
{
    comm->base =
        (unsigned *)mgds_calloc(comm->peers + 1, sizeof(comm->base[0]));
    if (!comm->base)
        return -ENOMEM;
    for (unsigned i = 0; i < comm->peers; i++) {
        unsigned streams = spec->members[i].streams;

        comm->base[i + 1] = comm->base[i] + (streams ? streams : 1);
    }
    comm->sources = comm->base[comm->peers];
    return 0;
}

static int fill_comm(struct mgds_comm *comm, const struct mgds_comm_spec *spec)
{
    unsigned own = comm->streams ? comm->streams : 1;
    int rc = mgds_fifos_init(&comm->pulls);

    if (rc == 0)
        rc = set_base(comm, spec);
    if (rc == 0)
        rc = allocate_members(comm);
    for (unsigned i = 0; rc == 0 && i < comm->streams; i++)
        if (spec->streams[i])
            comm->stream[i] = mgds_gstream_get(spec->streams[i]);
    for (unsigned i = 0; rc == 0 && i < own; i++)
        rc = mgds_match_create(&comm->match[i], comm->sources, mgds_paired,
                               comm);
    for (unsigned i = 0; rc == 0 && i < comm->peers; i++)
        rc = mgds_wire_peer_get(&comm->member[i].peer, spec->members[i].address,
                                spec->members[i].address_bytes);
    for (unsigned i = 0; rc == 0 && i < comm->peers; i++)
        mgds_comm_lose(comm, i, mgds_wire_peer_error(comm->member[i].peer));
    return rc;
}

int mgds_comm_create(struct mgds_comm **out, const struct mgds_comm_spec *spec)
{
    struct mgds_comm *comm;
    int rc;

    comm = (struct mgds_comm *)mgds_calloc(1, sizeof(*comm));
    if (!comm)
        return -ENOMEM;
    comm->refs = 1;
    comm->id = spec->id;
    comm->rank = spec->rank;
    comm->inter = spec->inter;
    comm->peers = spec->inter ? spec->remote_size : spec->size;
    comm->others = comm->peers - !spec->inter;
    comm->streams = spec->stream_count;
    comm->channels = spec->channels;
    LIST_INIT(&comm->ops);
    if (spec->channels)
        mgds_channels_get(spec->channels);
    rc = fill_comm(comm, spec);
    if (rc < 0) {
        mgds_comm_destroy(comm);
        return rc;
    }
    mgds_engine_enter();
    mgds_comm_list(comm);
    mgds_watch_meet(spec);
    mgds_am_replay();
    mgds_engine_leave();
    *out = comm;
    return 0;
}
