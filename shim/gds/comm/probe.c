/* Probes, matched ones too, as host calls make them; see comm.h. */
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/watch.h"
#include "shim/gds/comm/wildcards.h"

static int source_of(const struct mgds_comm *comm,
                     const struct mgds_probe *probe)
{
    if (probe->peer == MGDS_ANY_SOURCE)
        return MGDS_ANY_SOURCE;
    return mgds_comm_source(comm, (unsigned)probe->peer, probe->from_index);
}

static void describe_message(const struct mgds_message *message,
                             struct mgds_op_status *status)
{
    *status = (struct mgds_op_status){.source = (int)message->rank,
                                      .tag = message->match.tag,
                                      .index = (int)message->index,
                                      .bytes = message->bytes};
}

/* 1, 0 there is none, or the error that ended the peer. Under the engine's
 * lock. */
static int find_message(struct mgds_message **out, struct mgds_comm *comm,
                        const struct mgds_probe *probe)
{
    int rc = mgds_comm_lost(comm, probe->peer);

    *out = NULL;
    if (rc < 0 && probe->peer >= 0)
        return rc;
    mgds_wildcards_probe(comm, probe);
    *out = (struct mgds_message *)(void *)mgds_match_probe(
        comm->match[probe->to_index], source_of(comm, probe), probe->tag);
    return *out ? 1 : rc;
}

static int no_process(struct mgds_op_status *status)
{
    *status =
        (struct mgds_op_status){.source = MGDS_PROC_NULL, .tag = MGDS_ANY_TAG};
    return 1;
}

/* The message leaves the lists, with a reference to its communicator. Under the
 * engine's lock. */
static void take_message(struct mgds_message **out,
                         struct mgds_message *message, unsigned to_index)
{
    struct mgds_comm *comm = message->comm;

    mgds_match_take(comm->match[to_index], &message->match);
    mgds_comm_get(comm);
    *out = message;
}

/* out NULL: the message stays where it is. */
static int search_sources(struct mgds_message **out, struct mgds_comm *comm,
                          const struct mgds_probe *probe,
                          struct mgds_op_status *status)
{
    struct mgds_message *message;
    int rc;

    if (probe->peer == MGDS_PROC_NULL)
        return no_process(status);
    mgds_groups_flush();
    mgds_op_progress();
    mgds_engine_enter();
    rc = find_message(&message, comm, probe);
    if (message)
        describe_message(message, status);
    else if (rc == 0)
        mgds_watch_probe(comm, probe);
    if (message && out)
        take_message(out, message, probe->to_index);
    mgds_engine_leave();
    return rc;
}

int mgds_comm_probe(struct mgds_comm *comm, const struct mgds_probe *probe,
                    struct mgds_op_status *status)
{
    return search_sources(NULL, comm, probe, status);
}

int mgds_comm_mprobe(struct mgds_message **out, struct mgds_comm *comm,
                     const struct mgds_probe *probe,
                     struct mgds_op_status *status)
{
    *out = NULL;
    return search_sources(out, comm, probe, status);
}
