/* Places given back, several at a time; see credit.h. */
#include "shim/gds/domain/credit.h"

#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/gds/domain/engine.h"

/* As long as the thread of the wire spins when nothing happens. */
enum { KEPT_NS = 20000 };

static unsigned kept;  /* how many, of all domains; under the engine's lock */
static uint64_t since; /* when the first of them came, 0: none; atomic */

static void forget(struct mgds_domain *domain, unsigned count)
{
    domain->kept -= count;
    kept -= count;
    if (kept > 0)
        return;
    __atomic_store_n(&since, 0, __ATOMIC_RELAXED);
    mgds_wire_release();
}

static void remember(struct mgds_domain *domain)
{
    domain->kept++;
    if (kept++ > 0)
        return;
    __atomic_store_n(&since, mgds_clock_ns(), __ATOMIC_RELAXED);
    mgds_wire_hold();
}

static void tell(struct mgds_domain *domain, unsigned rank)
{
    struct mgds_taken *credit = domain->credit[rank];
    unsigned count = credit->count;

    mgds_exchange_give(domain, rank, credit);
    credit->count = 0;
    forget(domain, count);
}

/* Without memory for more, one by one. */
void mgds_credit_add(struct mgds_domain *domain, unsigned rank, uint64_t cookie)
{
    struct mgds_taken alone = {
        .count = 1, .rank = domain->rank, .cookie = {cookie}};
    struct mgds_taken *credit = domain->credit[rank];

    if (!credit)
        credit = domain->credit[rank] =
            (struct mgds_taken *)mgds_calloc(1, sizeof(*credit));
    if (!credit) {
        mgds_exchange_give(domain, rank, &alone);
        return;
    }
    credit->rank = domain->rank;
    credit->cookie[credit->count++] = cookie;
    remember(domain);
    if (credit->count == MGDS_TAKEN_MOST)
        tell(domain, rank);
}

static void tell_all(struct mgds_domain *domain)
{
    for (unsigned i = 0; i < domain->peers && domain->kept > 0; i++)
        if (domain->credit[i] && domain->credit[i]->count > 0)
            tell(domain, i);
}

void mgds_credit_end(struct mgds_domain *domain)
{
    tell_all(domain);
    for (unsigned i = 0; i < domain->peers; i++)
        free(domain->credit[i]);
}

bool mgds_credits_due(void)
{
    uint64_t first = __atomic_load_n(&since, __ATOMIC_RELAXED);

    return first && mgds_clock_ns() - first > KEPT_NS;
}

void mgds_credits_tell(void)
{
    for (struct mgds_domain *domain = mgds_domain_first(); domain && kept > 0;
         domain = domain->next)
        tell_all(domain);
}
