/* Domains: made, found, forgotten; see comm.h and comm_state.h. */
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
static struct mgds_domains domains = LIST_HEAD_INITIALIZER(domains);

/* By their ids: more than MPI has communicators for, so none is long. */
enum { HASH_BITS = 11 };
static LIST_HEAD(alike, mgds_domain) hashed[1 << HASH_BITS];
static uint64_t steps;

static struct alike *alike_of(uint64_t id)
{
    return &hashed[id * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HASH_BITS)];
}

struct mgds_domain *mgds_domain_find(uint64_t id)
{
    struct mgds_domain *domain = LIST_FIRST(alike_of(id));

    for (; domain && domain->id != id; domain = LIST_NEXT(domain, alike))
        steps++;
    steps++;
    return domain;
}

uint64_t mgds_domain_steps(void)
{
    return steps;
}

/* Under the engine's lock. */
static struct mgds_hash gone; /* their ids, and no more */

bool mgds_domain_is_gone(uint64_t id)
{
    return mgds_hash_find(&gone, id) != NULL;
}

const struct mgds_domains *mgds_domains_all(void)
{
    return &domains;
}

/* The domain is gone; without memory nobody remembers that. */
static void remember_id(const struct mgds_domain *domain)
{
    mgds_hash_put(&gone, domain->id, &gone);
}

void mgds_domain_lose(struct mgds_domain *domain, unsigned rank, int error)
{
    if (error == 0 || domain->member[rank].lost)
        return;
    domain->member[rank].lost = error;
    if (!mgds_domain_is_other(domain, rank))
        return;
    domain->others--;
    domain->wildcards.living -=
        domain->member[rank].subscription == MGDS_SUBSCRIPTION_SUBSCRIBED;
}

/* Is nobody left but this process itself, where there were others? */
static bool is_alone(const struct mgds_domain *domain)
{
    return domain->others == 0 && domain->peers > !domain->inter;
}

int mgds_domain_lost(const struct mgds_domain *domain, int rank)
{
    if (rank >= 0)
        return domain->member[rank].lost;
    return is_alone(domain) ? -ENOTCONN : 0;
}

void mgds_domain_get(struct mgds_domain *domain)
{
    __atomic_fetch_add(&domain->refs, 1, __ATOMIC_RELAXED);
}

/* Records of messages that nobody received. */
static void free_message(void *domain, struct mgds_match_send *send)
{
    (void)domain;
    mgds_spares_give(&mgds_message_spares, send);
}

void mgds_domain_destroy(struct mgds_domain *domain)
{
    for (unsigned i = 0;
         domain->match && i < (domain->streams + !domain->streams); i++) {
        if (domain->match[i])
            mgds_match_clear(domain->match[i], free_message, NULL);
        mgds_match_destroy(domain->match[i]);
    }
    for (unsigned i = 0; domain->member && i < domain->peers; i++)
        if (domain->member[i].peer)
            mgds_wire_peer_put(domain->member[i].peer);
    for (unsigned i = 0; domain->stream && i < domain->streams; i++)
        if (domain->stream[i])
            mgds_gstream_release(domain->stream[i]);
    mgds_channels_put(domain->channels);
    mgds_fifos_fini(&domain->pulls);
    free(domain->match);
    free(domain->member);
    free(domain->stream);
    free(domain->base);
    free(domain->sent);
    mgds_debt_pay(&domain->owed, NULL);
    free(domain);
}

void mgds_domain_list(struct mgds_domain *domain)
{
    LIST_INSERT_HEAD(&domains, domain, link);
    LIST_INSERT_HEAD(alike_of(domain->id), domain, alike);
    domain->listed = true;
}

static bool unlist_domain(struct mgds_domain *domain)
{
    if (!domain->listed)
        return false;
    LIST_REMOVE(domain, link);
    LIST_REMOVE(domain, alike);
    domain->listed = false;
    return true;
}

void mgds_domain_release(struct mgds_domain *domain)
{
    if (__atomic_sub_fetch(&domain->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    mgds_engine_enter();
    if (unlist_domain(domain))
        remember_id(domain);
    mgds_work_cancel(&domain->wildcards.greeting);
    mgds_watched_forget(domain);
    if (domain->member)
        mgds_credit_end(domain);
    mgds_am_replay(); /* forgets what came for it */
    mgds_engine_leave();
    mgds_domain_destroy(domain);
}

void mgds_domain_set_name(struct mgds_domain *domain, const char *name)
{
    size_t i = 0;

    mgds_engine_enter();
    for (; name[i] && i + 1 < sizeof(domain->name); i++)
        domain->name[i] =
            (char)(iscntrl((unsigned char)name[i]) ? '?' : name[i]);
    domain->name[i] = '\0';
    mgds_engine_leave();
}

/* Of domains whose communicators are gone. */
static struct mgds_debt stray;

struct mgds_debt *mgds_domain_debt(struct mgds_domain *domain)
{
    return domain->astray ? &stray : &domain->owed;
}

void mgds_domain_go_astray(struct mgds_domain *domain)
{
    mgds_engine_enter();
    domain->astray = true;
    mgds_debt_pass(&stray, &domain->owed);
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

int mgds_domains_take_error(struct mgds_failure *out)
{
    return pay_debt(&stray, out);
}

int mgds_domain_take_error(struct mgds_domain *domain, struct mgds_failure *out)
{
    return pay_debt(&domain->owed, out);
}

void mgds_domains_forget(void)
{
    struct mgds_domain *domain;

    while ((domain = LIST_FIRST(&domains)) != NULL) {
        remember_id(domain);
        unlist_domain(domain);
    }
}
