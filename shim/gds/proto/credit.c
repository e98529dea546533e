/* Places given back, several at a time; see credit.h. */
#include "shim/gds/proto/credit.h"

#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/msg/work.h"

/* Of a rank that is to be told. */
struct mgds_credit {
    struct mgds_taken taken;
    struct mgds_domain *domain;
    unsigned rank;
    struct mgds_work work; /* while there is something */
};

static void post_taken(const struct mgds_domain *domain, unsigned rank,
                       const struct mgds_taken *taken)
{
    size_t bytes = offsetof(struct mgds_taken, cookie) +
                   taken->count * sizeof(taken->cookie[0]);

    if (!domain->member[rank].lost)
        mgds_am_tell(domain->member[rank].peer, MGDS_ENVELOPE_TAKEN, taken,
                     bytes);
}

static void tell_rank(struct mgds_credit *credit)
{
    mgds_work_cancel(&credit->work);
    post_taken(credit->domain, credit->rank, &credit->taken);
    credit->taken.count = 0;
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
        post_taken(domain, rank, &alone);
        return;
    }
    credit->domain = domain;
    credit->rank = rank;
    credit->taken.rank = domain->rank;
    credit->taken.cookie[credit->taken.count++] = cookie;
    if (credit->taken.count == 1)
        mgds_work_add(&credit->work, MGDS_WORK_CREDIT);
    if (credit->taken.count == MGDS_TAKEN_MOST)
        tell_rank(credit);
}

void mgds_credit_end(struct mgds_domain *domain)
{
    for (unsigned i = 0; i < domain->peers; i++) {
        struct mgds_credit *credit = domain->member[i].credit;

        if (credit && credit->taken.count > 0)
            tell_rank(credit);
        free(credit);
    }
}

void mgds_credits_tell(void)
{
    mgds_works_run_now(MGDS_WORK_CREDIT);
}

static bool run_credit(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_credit *credit =
        MGDS_CONTAINER_OF(work, struct mgds_credit, work);

    (void)by;
    mgds_work_done(work);
    tell_rank(credit);
    return true;
}

void mgds_credits_init(void)
{
    static const struct mgds_work_handler handler = {.run = run_credit};

    mgds_work_handle(MGDS_WORK_CREDIT, &handler);
}
