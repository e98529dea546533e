/* Places given back, several at a time; see credit.h. */
#include "shim/gds/domain/credit.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/gds/domain/domain_state.h"
#include "shim/gds/msg/am.h"

/* As long as the thread of the wire spins when nothing happens. */
enum { KEPT_NS = 20000 };

/* Of a rank that is to be told. */
struct mgds_credit {
    struct mgds_taken taken;
    struct mgds_domain *domain;
    unsigned rank;
    TAILQ_ENTRY(mgds_credit) link; /* while there is something */
};

/* Those with something, of all domains; under the engine's lock. */
static TAILQ_HEAD(, mgds_credit) kept = TAILQ_HEAD_INITIALIZER(kept);
static uint64_t since; /* when the first of them came, 0: none; atomic */
static uint64_t steps; /* ranks looked at; under the engine's lock */

static void forget(struct mgds_credit *credit)
{
    TAILQ_REMOVE(&kept, credit, link);
    if (!TAILQ_EMPTY(&kept))
        return;
    __atomic_store_n(&since, 0, __ATOMIC_RELAXED);
    mgds_wire_release();
}

static void remember(struct mgds_credit *credit)
{
    bool first = TAILQ_EMPTY(&kept);

    TAILQ_INSERT_TAIL(&kept, credit, link);
    if (!first)
        return;
    __atomic_store_n(&since, mgds_clock_ns(), __ATOMIC_RELAXED);
    mgds_wire_hold();
}

static void post(const struct mgds_domain *domain, unsigned rank,
                 const struct mgds_taken *taken)
{
    size_t bytes = offsetof(struct mgds_taken, cookie) +
                   taken->count * sizeof(taken->cookie[0]);

    if (!domain->member[rank].lost)
        mgds_am_tell(domain->member[rank].peer, MGDS_ENVELOPE_TAKEN, taken,
                     bytes);
}

static void tell(struct mgds_credit *credit)
{
    steps++;
    post(credit->domain, credit->rank, &credit->taken);
    credit->taken.count = 0;
    forget(credit);
}

/* Without memory for more, one by one. */
void mgds_credit_add(struct mgds_domain *domain, unsigned rank, uint64_t cookie)
{
    struct mgds_taken alone = {
        .count = 1, .rank = domain->rank, .cookie = {cookie}};
    struct mgds_credit *credit = domain->member[rank].credit;

    if (!credit)
        credit = domain->member[rank].credit =
            (struct mgds_credit *)mgds_calloc(1, sizeof(*credit));
    if (!credit) {
        post(domain, rank, &alone);
        return;
    }
    credit->domain = domain;
    credit->rank = rank;
    credit->taken.rank = domain->rank;
    credit->taken.cookie[credit->taken.count++] = cookie;
    if (credit->taken.count == 1)
        remember(credit);
    if (credit->taken.count == MGDS_TAKEN_MOST)
        tell(credit);
}

void mgds_credit_end(struct mgds_domain *domain)
{
    for (unsigned i = 0; i < domain->peers; i++) {
        struct mgds_credit *credit = domain->member[i].credit;

        if (credit && credit->taken.count > 0)
            tell(credit);
        free(credit);
    }
}

bool mgds_credits_due(void)
{
    uint64_t first = __atomic_load_n(&since, __ATOMIC_RELAXED);

    return first && mgds_clock_ns() - first > KEPT_NS;
}

void mgds_credits_tell(void)
{
    while (!TAILQ_EMPTY(&kept))
        tell(TAILQ_FIRST(&kept));
}

uint64_t mgds_credit_steps(void)
{
    return steps;
}
