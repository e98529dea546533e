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
    struct mgds_comm *comm;
    unsigned rank;
    struct mgds_work work; /* while there is something */
};

static void post_taken(const struct mgds_comm *comm, unsigned rank,
                       const struct mgds_taken *taken)
{
    size_t bytes = offsetof(struct mgds_taken, request_id) +
                   taken->count * sizeof(taken->request_id[0]);

    if (!comm->member[rank].lost)
        mgds_am_tell(comm->member[rank].peer, MGDS_ENVELOPE_TAKEN, taken,
                     bytes);
}

static void tell_rank(struct mgds_credit *credit)
{
    mgds_work_cancel(&credit->work);
    post_taken(credit->comm, credit->rank, &credit->taken);
    credit->taken.count = 0;
}

/* Without memory for more, one by one. */
void mgds_credit_add(struct mgds_comm *comm, unsigned rank, uint64_t request_id)
{
    struct mgds_taken alone = {
        .count = 1, .rank = comm->rank, .request_id = {request_id}};
    struct mgds_credit *credit = comm->member[rank].credit;

    if (!credit)
        credit = comm->member[rank].credit =
            (struct mgds_credit *)mgds_calloc(1, sizeof(*credit));
    if (!credit) {
        post_taken(comm, rank, &alone);
        return;
    }
    credit->comm = comm;
    credit->rank = rank;
    credit->taken.rank = comm->rank;
    credit->taken.request_id[credit->taken.count++] = request_id;
    if (credit->taken.count == 1)
        mgds_work_add(&credit->work, MGDS_WORK_CREDIT);
    if (credit->taken.count == MGDS_TAKEN_MOST)
        tell_rank(credit);
}

void mgds_credit_end(struct mgds_comm *comm)
{
    for (unsigned i = 0; i < comm->peers; i++) {
        struct mgds_credit *credit = comm->member[i].credit;

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
