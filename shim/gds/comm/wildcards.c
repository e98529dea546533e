/* Subscriptions of a communicator at its members; see wildcards.h. */
#include "shim/gds/comm/wildcards.h"

#include "shim/base/container.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/match/match.h"
#include "shim/gds/msg/am.h"

/* Silent members that are greeted at a time. */
enum { GREETED_MOST = 8 };

/* A post that fails leaves the member to its next RTS, or to a greeting. */
static void subscribe_at(struct mgds_comm *comm, unsigned rank)
{
    struct mgds_comm_member *member = &comm->member[rank];
    const struct mgds_tell head = {.comm = comm->id, .rank = comm->rank};

    if (member->subscription == MGDS_SUBSCRIPTION_SUBSCRIBED || member->lost ||
        mgds_am_tell(member->peer, MGDS_ENVELOPE_SUBSCRIBE, &head,
                     sizeof(head)) < 0)
        return;
    member->subscription = MGDS_SUBSCRIPTION_SUBSCRIBED;
    if (!mgds_comm_is_other(comm, rank))
        return;
    comm->wildcards.living++;
    mgds_work_cancel(&comm->wildcards.greeting);
}

static void subscribe_connected(struct mgds_comm *comm)
{
    for (unsigned i = 0; i < comm->peers; i++)
        if (mgds_wire_peer_is_connected(comm->member[i].peer))
            subscribe_at(comm, i);
}

static void subscribe_heard(struct mgds_comm *comm)
{
    for (unsigned i = 0; i < comm->peers; i++)
        if (comm->member[i].subscription == MGDS_SUBSCRIPTION_HEARD)
            subscribe_at(comm, i);
}

static void subscribe_silent(struct mgds_comm *comm)
{
    const struct mgds_wildcards *wildcards = &comm->wildcards;

    for (unsigned i = 0; i < comm->peers && wildcards->living < GREETED_MOST;
         i++)
        if (mgds_comm_is_other(comm, i))
            subscribe_at(comm, i);
}

static void greet_members(struct mgds_comm *comm)
{
    subscribe_connected(comm);
    if (comm->wildcards.living == 0)
        subscribe_silent(comm);
}

static bool any_receive_stands(const struct mgds_comm *comm)
{
    const unsigned own = comm->streams ? comm->streams : 1;
    size_t count = 0;

    for (unsigned i = 0; i < own; i++)
        count += mgds_match_wild(comm->match[i]);
    return count > 0;
}

/* True: nobody's end would be seen, and there is somebody. */
static bool is_alone(const struct mgds_comm *comm)
{
    return comm->wildcards.living == 0 && comm->others > 0;
}

static void begin_subscribing(struct mgds_comm *comm)
{
    if (comm->wildcards.called)
        return;
    comm->wildcards.called = true;
    subscribe_heard(comm);
    subscribe_connected(comm);
}

static void expect_greeting(struct mgds_comm *comm)
{
    struct mgds_work *greeting = &comm->wildcards.greeting;

    if (is_alone(comm) && !mgds_work_is_listed(greeting))
        mgds_work_add(greeting, MGDS_WORK_GREETING);
}

void mgds_wildcards_receive(struct mgds_comm *comm)
{
    begin_subscribing(comm);
    expect_greeting(comm);
}

void mgds_wildcards_probe(struct mgds_comm *comm,
                          const struct mgds_probe *probe)
{
    if (probe->peer >= 0) {
        subscribe_at(comm, (unsigned)probe->peer);
        return;
    }
    begin_subscribing(comm);
    if (!probe->waits)
        return;
    comm->wildcards.probed = true;
    expect_greeting(comm);
}

void mgds_wildcards_hear(struct mgds_comm *comm, unsigned rank)
{
    if (comm->wildcards.called)
        subscribe_at(comm, rank);
    else if (comm->member[rank].subscription == MGDS_SUBSCRIPTION_SILENT)
        comm->member[rank].subscription = MGDS_SUBSCRIPTION_HEARD;
}

/* One that stands has waited for those that are gone now. A probe looks for
 * itself. */
void mgds_wildcards_lose(struct mgds_comm *comm)
{
    if (is_alone(comm) && any_receive_stands(comm) &&
        !mgds_work_is_listed(&comm->wildcards.greeting))
        greet_members(comm);
}

static bool run_greeting(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_comm *comm =
        MGDS_CONTAINER_OF(work, struct mgds_comm, wildcards.greeting);
    bool stands = comm->wildcards.probed || any_receive_stands(comm);

    (void)by;
    mgds_work_done(work);
    comm->wildcards.probed = false;
    if (stands && is_alone(comm))
        greet_members(comm);
    return true;
}

void mgds_wildcards_init(void)
{
    static const struct mgds_work_handler greetings = {.run = run_greeting};

    mgds_work_handle(MGDS_WORK_GREETING, &greetings);
}
