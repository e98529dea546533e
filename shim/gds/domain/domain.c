/* Domains: made, found, drained, forgotten; see domain.h and engine.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/domain/dump.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/expire.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/gone.h"
#include "shim/gds/domain/launcher.h"
#include "shim/gds/domain/memory.h"
#include "shim/gds/domain/pull.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/ring/ring.h"

struct mgds_spares mgds_message_spares =
    MGDS_SPARES_INIT(sizeof(struct mgds_message));
struct mgds_lock mgds_engine_lock = MGDS_LOCK_INIT(MGDS_LOCK_COMM);
static struct mgds_domain *domains;
static struct mgds_lock open_lock = MGDS_LOCK_INIT(MGDS_LOCK_ENGINE);
static bool open; /* the wire; under open_lock */

/* By their ids: more than MPI has communicators for, so none is long. Under the
 * engine's lock, as all of the following. */
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
static struct mgds_gone gone;

bool mgds_domain_is_gone(uint64_t id)
{
    return mgds_gone_has(&gone, id);
}

struct mgds_domain *mgds_domain_first(void)
{
    return domains;
}

void mgds_domain_get(struct mgds_domain *domain)
{
    __atomic_fetch_add(&domain->refs, 1, __ATOMIC_RELAXED);
}

/* What is to be freed when the lock is free; under it. */
static struct mgds_op *dead;
static struct mgds_wait *waits;

void mgds_engine_enter(void)
{
    mgds_lock_acquire(&mgds_engine_lock);
}

int mgds_engine_try(void)
{
    return mgds_lock_try(&mgds_engine_lock);
}

void mgds_engine_put_later(struct mgds_op *op)
{
    if (!mgds_op_drop(op))
        return;
    op->next = dead;
    dead = op;
}

void mgds_engine_free_later(struct mgds_wait *wait)
{
    wait->next = waits;
    waits = wait;
}

void mgds_engine_leave(void)
{
    struct mgds_op *op = dead;
    struct mgds_wait *wait = waits;

    dead = NULL;
    waits = NULL;
    mgds_lock_release(&mgds_engine_lock);
    while (wait) {
        struct mgds_wait *next = wait->next;

        mgds_wait_free(wait);
        wait = next;
    }
    while (op) {
        struct mgds_op *next = op->next;

        mgds_op_destroy(op);
        op = next;
    }
}

/* A round of the wire's, or of who waits on the host. */
static int look_at_streams(void *arg)
{
    bool any;

    (void)arg;
    /* most rounds find nothing: they leave the lock to those who call */
    if (!mgds_lines_due() && !mgds_credits_due() && !mgds_pulls_due() &&
        !mgds_quitting_due() && !mgds_stands_due())
        return 0;
    mgds_engine_enter();
    any = mgds_lines_poll();
    if (mgds_stands_due()) {
        mgds_stands_look();
        mgds_watch_look();
        mgds_expire_look();
    }
    if (mgds_credits_due())
        mgds_credits_tell();
    if (mgds_pulls_due())
        mgds_pulls_look();
    mgds_quitting_look();
    mgds_engine_leave();
    mgds_lines_reap();
    return any;
}

void mgds_op_progress(void)
{
    mgds_wire_progress();
    mgds_lines_ask();
    mgds_lines_check();
    look_at_streams(NULL);
    mgds_memory_map();
    mgds_rooms_run(true);
    mgds_fetches_run();
    mgds_orphans_poll();
    mgds_watch_speak();
}

/* By the wire's thread. */
static void chores(void)
{
    mgds_memory_chore();
    mgds_rooms_chore();
    mgds_fetches_chore();
    mgds_quitting_chore();
    mgds_watch_speak();
    mgds_dump_chore();
}

void mgds_last_resort(void)
{
    mgds_memory_map();
    mgds_rooms_run(false);
    mgds_fetches_late();
    mgds_lines_ask();
}

static int open_once(void)
{
    int rc;

    mgds_exchange_init();
    mgds_lost_init();
    mgds_wire_chore(chores);
    rc = mgds_wire_open(&mgds_ctx()->config);
    if (rc < 0)
        return rc;
    rc = mgds_wire_poller(look_at_streams, NULL);
    if (rc < 0)
        mgds_wire_close();
    return rc;
}

static int open_wire(void)
{
    int rc = 0;

    mgds_lock_acquire(&open_lock);
    if (!open)
        rc = open_once();
    open = rc == 0;
    mgds_lock_release(&open_lock);
    return rc;
}

static void close_wire(void)
{
    mgds_lock_acquire(&open_lock);
    if (open) {
        mgds_wire_poller_end(look_at_streams, NULL);
        mgds_wire_close();
    }
    open = false;
    mgds_lock_release(&open_lock);
}

int mgds_domains_open(bool network, const void **address, size_t *bytes)
{
    int rc = open_wire();

    if (rc == 0 && network)
        rc = mgds_wire_open_network();
    return rc < 0 ? rc : mgds_wire_address(address, bytes);
}

bool mgds_domains_near(const struct mgds_member *member)
{
    return mgds_wire_near(member->address, member->address_bytes);
}

/* Records of messages that nobody received. */
static void free_message(void *domain, struct mgds_match_send *send)
{
    (void)domain;
    mgds_spares_give(&mgds_message_spares, send);
}

static void destroy(struct mgds_domain *domain)
{
    for (unsigned i = 0;
         domain->match && i < (domain->streams + !domain->streams); i++) {
        if (domain->match[i])
            mgds_match_clear(domain->match[i], free_message, NULL);
        mgds_match_destroy(domain->match[i]);
    }
    for (unsigned i = 0; domain->peer && i < domain->peers; i++)
        if (domain->peer[i])
            mgds_wire_peer_put(domain->peer[i]);
    for (unsigned i = 0; domain->stream && i < domain->streams; i++)
        if (domain->stream[i])
            mgds_gstream_release(domain->stream[i]);
    mgds_landing_put(domain->landing);
    free(domain->match);
    free(domain->peer);
    free(domain->stream);
    free(domain->base);
    free(domain->sent);
    free(domain->subscriber);
    free(domain->met);
    free(domain->lost);
    free((void *)domain->credit);
    mgds_debt_pay(&domain->owed, NULL);
    free(domain);
}

static void list(struct mgds_domain *domain)
{
    domain->prev = NULL;
    domain->next = domains;
    if (domains)
        domains->prev = domain;
    domains = domain;
    LIST_INSERT_HEAD(alike_of(domain->id), domain, alike);
    domain->listed = true;
}

static bool unlist(struct mgds_domain *domain)
{
    if (!domain->listed)
        return false;
    *(domain->prev ? &domain->prev->next : &domains) = domain->next;
    if (domain->next)
        domain->next->prev = domain->prev;
    LIST_REMOVE(domain, alike);
    domain->listed = false;
    return true;
}

void mgds_domain_put(struct mgds_domain *domain)
{
    if (!domain || __atomic_sub_fetch(&domain->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    mgds_engine_enter();
    if (unlist(domain))
        mgds_gone_add(&gone, domain->id);
    mgds_watch_forget(domain);
    if (domain->credit)
        mgds_credit_end(domain);
    mgds_exchange_replay(); /* forgets what came for it */
    mgds_engine_leave();
    destroy(domain);
    mgds_lines_reap();
}

static int allocate(struct mgds_domain *domain)
{
    size_t own = domain->streams ? domain->streams : 1;

    domain->stream =
        (struct mgds_gstream **)mgds_calloc(own, sizeof(struct mgds_gstream *));
    domain->peer = (struct mgds_wire_peer **)mgds_calloc(
        domain->peers, sizeof(struct mgds_wire_peer *));
    domain->match =
        (struct mgds_match **)mgds_calloc(own, sizeof(struct mgds_match *));
    domain->sent =
        (uint64_t *)mgds_calloc(own * domain->sources, sizeof(domain->sent[0]));
    domain->subscriber = (bool *)mgds_calloc(domain->peers, sizeof(bool));
    domain->met = (bool *)mgds_calloc(domain->peers, sizeof(bool));
    domain->lost = (int *)mgds_calloc(domain->peers, sizeof(int));
    domain->credit = (struct mgds_credit **)mgds_calloc(
        domain->peers, sizeof(struct mgds_credit *));
    for (size_t i = 0; domain->sent && i < own * domain->sources; i++)
        domain->sent[i] = MGDS_COUNT_FROM;
    return domain->stream && domain->peer && domain->match && domain->sent &&
                   domain->subscriber && domain->met && domain->lost &&
                   domain->credit
               ? 0
               : -ENOMEM;
}

/* Where each member's sources begin: one for each of its streams, at least
 * one. */
static int set_base(struct mgds_domain *domain,
                    const struct mgds_domain_spec *spec)
{
    domain->base =
        (unsigned *)mgds_calloc(domain->peers + 1, sizeof(domain->base[0]));
    if (!domain->base)
        return -ENOMEM;
    for (unsigned i = 0; i < domain->peers; i++) {
        unsigned streams = spec->members[i].streams;

        domain->base[i + 1] = domain->base[i] + (streams ? streams : 1);
    }
    domain->sources = domain->base[domain->peers];
    return 0;
}

static int fill(struct mgds_domain *domain, const struct mgds_domain_spec *spec)
{
    unsigned own = domain->streams ? domain->streams : 1;
    int rc = set_base(domain, spec);

    if (rc == 0)
        rc = allocate(domain);
    for (unsigned i = 0; rc == 0 && i < domain->streams; i++)
        if (spec->streams[i])
            domain->stream[i] = mgds_gstream_get(spec->streams[i]);
    for (unsigned i = 0; rc == 0 && i < own; i++)
        rc = mgds_match_create(&domain->match[i], domain->sources,
                               mgds_exchange_paired, domain);
    for (unsigned i = 0; rc == 0 && i < domain->peers; i++)
        rc = mgds_wire_peer_get(&domain->peer[i], spec->members[i].address,
                                spec->members[i].address_bytes);
    for (unsigned i = 0; rc == 0 && i < domain->peers; i++)
        domain->lost[i] = mgds_wire_peer_error(domain->peer[i]);
    return rc;
}

int mgds_domain_create(struct mgds_domain **out,
                       const struct mgds_domain_spec *spec)
{
    struct mgds_domain *domain;
    int rc = open_wire();

    if (rc < 0)
        return rc;
    domain = (struct mgds_domain *)mgds_calloc(1, sizeof(*domain));
    if (!domain)
        return -ENOMEM;
    domain->refs = 1;
    domain->id = spec->id;
    domain->rank = spec->rank;
    domain->inter = spec->inter;
    domain->peers = spec->inter ? spec->remote_size : spec->size;
    domain->streams = spec->stream_count;
    domain->landing = spec->landing;
    if (spec->landing)
        mgds_landing_get(spec->landing);
    rc = fill(domain, spec);
    if (rc < 0) {
        destroy(domain);
        return rc;
    }
    mgds_engine_enter();
    list(domain);
    mgds_watch_meet(spec);
    mgds_exchange_replay();
    mgds_engine_leave();
    *out = domain;
    return 0;
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

static int pay(struct mgds_debt *debt, struct mgds_failure *out)
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
    return pay(&stray, out);
}

int mgds_domain_take_error(struct mgds_domain *domain, struct mgds_failure *out)
{
    return pay(&domain->owed, out);
}

/* What is not done is given up: its records stay, for streams may still come to
 * them and requests name them, but no later epoch knows of them. */
static void give_up(void)
{
    mgds_engine_enter();
    mgds_orphan = NULL;
    while (domains) {
        mgds_gone_add(&gone, domains->id);
        unlist(domains);
    }
    mgds_engine_leave();
}

void mgds_domains_fini(void)
{
    mgds_engine_enter();
    mgds_lines_release();
    mgds_credits_tell();
    mgds_engine_leave();
    close_wire();
    mgds_launcher_fini();
    mgds_rooms_fini();
    mgds_fetches_fini();
    mgds_pulls_fini();
    mgds_quitting_fini();
    mgds_memory_fini();
    give_up();
    mgds_exchange_forget();
    mgds_ops_forget();
    mgds_lines_fini();
    mgds_ring_views_fini();
    mgds_spares_clear(&mgds_op_spares);
    mgds_spares_clear(&mgds_wait_spares);
    mgds_spares_clear(&mgds_message_spares);
}

void mgds_domains_gone(void)
{
    mgds_rings_fini();
}
