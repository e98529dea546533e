/* Subscriptions of a communicator at its members; see wildcards.h. */
#include "shim/gds/comm/wildcards.h"

#include "shim/base/container.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/match/match.h"
#include "shim/gds/msg/am.h"

/* Silent members that are greeted at a time. */
enum { GREETED_MOST = 8 };

/* A post that fails leaves the member to its next RTS, or to a greeting. */
static void subscribe_at(struct mgds_domain *domain, unsigned rank)
{
    struct mgds_domain_member *member = &domain->member[rank];
    const struct mgds_tell head = {.domain = domain->id, .rank = domain->rank};

    if (member->subscription == MGDS_SUBSCRIPTION_SUBSCRIBED || member->lost ||
        mgds_am_tell(member->peer, MGDS_ENVELOPE_SUBSCRIBE, &head,
                     sizeof(head)) < 0)
        return;
    member->subscription = MGDS_SUBSCRIPTION_SUBSCRIBED;
    if (!mgds_domain_is_other(domain, rank))
        return;
    domain->wildcards.living++;
    mgds_work_cancel(&domain->wildcards.greeting);
}

static void subscribe_connected(struct mgds_domain *domain)
{
    for (unsigned i = 0; i < domain->peers; i++)
        if (mgds_wire_peer_is_connected(domain->member[i].peer))
            subscribe_at(domain, i);
}

static void subscribe_heard(struct mgds_domain *domain)
{
    for (unsigned i = 0; i < domain->peers; i++)
        if (domain->member[i].subscription == MGDS_SUBSCRIPTION_HEARD)
            subscribe_at(domain, i);
}

static void subscribe_silent(struct mgds_domain *domain)
{
    const struct mgds_wildcards *wildcards = &domain->wildcards;

    for (unsigned i = 0; i < domain->peers && wildcards->living < GREETED_MOST;
         i++)
        if (mgds_domain_is_other(domain, i))
            subscribe_at(domain, i);
}

static void greet_members(struct mgds_domain *domain)
{
    subscribe_connected(domain);
    if (domain->wildcards.living == 0)
        subscribe_silent(domain);
}

static bool any_receive_stands(const struct mgds_domain *domain)
{
    const unsigned own = domain->streams ? domain->streams : 1;
    size_t count = 0;

    for (unsigned i = 0; i < own; i++)
        count += mgds_match_wild(domain->match[i]);
    return count > 0;
}

/* True: nobody's end would be seen, and there is somebody. */
static bool is_alone(const struct mgds_domain *domain)
{
    return domain->wildcards.living == 0 && domain->others > 0;
}

static void begin_subscribing(struct mgds_domain *domain)
{
    if (domain->wildcards.called)
        return;
    domain->wildcards.called = true;
    subscribe_heard(domain);
    subscribe_connected(domain);
}

static void expect_greeting(struct mgds_domain *domain)
{
    struct mgds_work *greeting = &domain->wildcards.greeting;

    if (is_alone(domain) && !mgds_work_is_listed(greeting))
        mgds_work_add(greeting, MGDS_WORK_GREETING);
}

void mgds_wildcards_receive(struct mgds_domain *domain)
{
    begin_subscribing(domain);
    expect_greeting(domain);
}

void mgds_wildcards_probe(struct mgds_domain *domain,
                          const struct mgds_probe *probe)
{
    if (probe->peer >= 0) {
        subscribe_at(domain, (unsigned)probe->peer);
        return;
    }
    begin_subscribing(domain);
    if (!probe->waits)
        return;
    domain->wildcards.probed = true;
    expect_greeting(domain);
}

void mgds_wildcards_hear(struct mgds_domain *domain, unsigned rank)
{
    if (domain->wildcards.called)
        subscribe_at(domain, rank);
    else if (domain->member[rank].subscription == MGDS_SUBSCRIPTION_SILENT)
        domain->member[rank].subscription = MGDS_SUBSCRIPTION_HEARD;
}

/* One that stands has waited for those that are gone now. A probe looks for
 * itself. */
void mgds_wildcards_lose(struct mgds_domain *domain)
{
    if (is_alone(domain) && any_receive_stands(domain) &&
        !mgds_work_is_listed(&domain->wildcards.greeting))
        greet_members(domain);
}

static bool run_greeting(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_domain *domain =
        MGDS_CONTAINER_OF(work, struct mgds_domain, wildcards.greeting);
    bool stands = domain->wildcards.probed || any_receive_stands(domain);

    (void)by;
    mgds_work_done(work);
    domain->wildcards.probed = false;
    if (stands && is_alone(domain))
        greet_members(domain);
    return true;
}

void mgds_wildcards_init(void)
{
    static const struct mgds_work_handler greetings = {.run = run_greeting};

    mgds_work_handle(MGDS_WORK_GREETING, &greetings);
}
