/* Messages by header that were taken back; see direct_withdraw.h. */
#include "shim/pmpi/direct_withdraw.h"

#include <errno.h>

#include "shim/base/stats.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"

struct withdrawn {
    struct mgds_request request; /* first; of the bytes below */
    struct mgds_withdrawal what;
};

/* The MPI below reads the header until that is matched, out of the slot's
 * memory: a slot whose header has no end is not used again. */
static void withdrawn_release(struct mgds_request *request)
{
    struct withdrawn *withdrawn = (struct withdrawn *)request;

    mgds_bounce_destroy(withdrawn->what.bounce);
    if (withdrawn->what.header == MPI_REQUEST_NULL)
        mgds_board_free(mgds_direct_own_board(), withdrawn->what.slot);
}

/* Whoever receives the bytes has matched the header before: it is over soon. */
static int withdrawn_poll(struct mgds_request *request)
{
    struct withdrawn *withdrawn = (struct withdrawn *)request;
    int over = 1;
    int rc = MPI_SUCCESS;

    if (withdrawn->what.header != MPI_REQUEST_NULL)
        rc = (int)MGDS_NEXT(Test, 3)((mgds_word)&withdrawn->what.header,
                                     (mgds_word)&over,
                                     (mgds_word)MPI_STATUS_IGNORE);
    return rc != MPI_SUCCESS ? -EIO : over;
}

/* Nobody has begun to receive the bytes: one load. */
static bool withdrawn_idle(const struct mgds_request *request)
{
    const struct withdrawn *withdrawn = (const struct withdrawn *)request;

    return mgds_board_state(mgds_direct_own_board(), withdrawn->what.slot,
                            withdrawn->what.serial) == MGDS_SLOT_WITHDRAWN;
}

static const struct mgds_request_ops withdrawn_ops = {
    .kind = MGDS_REQUEST_IS_SEND,
    .idle = withdrawn_idle,
    .poll = withdrawn_poll,
    .release = withdrawn_release};

/* The record goes; its bounce and its header are somebody else's. */
static void drop(struct withdrawn *withdrawn)
{
    withdrawn->request.released = true;
    mgds_request_put(&withdrawn->request);
}

/* The receiver hears of it, if it was not faster, and the slot is used no more.
 */
static int give_up(struct withdrawn *withdrawn)
{
    const struct mgds_withdrawal *what = &withdrawn->what;

    mgds_board_move(mgds_direct_own_board(), what->slot, what->serial,
                    MGDS_SLOT_WITHDRAWN, MGDS_SLOT_FAILED);
    mgds_bounce_destroy(what->bounce);
    drop(withdrawn);
    return -EIO;
}

/* From here on later calls and MPI_Finalize look at it. */
static int send_below(struct withdrawn *withdrawn)
{
    const struct mgds_withdrawal *what = &withdrawn->what;
    int rc = (int)MGDS_NEXT(Issend_c, 7)(
        (mgds_word)mgds_bounce_base(what->bounce),
        (mgds_word)mgds_bounce_bytes(what->bounce), (mgds_word)MPI_BYTE,
        (mgds_word)what->peer, (mgds_word)what->slot,
        (mgds_word)mgds_direct_comm(), (mgds_word)&withdrawn->request.handle);

    if (rc != MPI_SUCCESS)
        return give_up(withdrawn);
    mgds_count(direct_withdrawn);
    mgds_request_step(&withdrawn->request, MGDS_REQUEST_ON_BEGIN);
    mgds_requests_add_orphan(&withdrawn->request);
    return 1;
}

int mgds_direct_withdraw(const struct mgds_withdrawal *what)
{
    struct withdrawn *withdrawn = mgds_request_new(
        sizeof(*withdrawn), &withdrawn_ops, mgds_direct_comm());

    if (!withdrawn)
        return 0;
    withdrawn->what = *what;
    /* release: the receiver that sees it finds the bytes below */
    if (!mgds_board_move(mgds_direct_own_board(), what->slot, what->serial,
                         what->from, MGDS_SLOT_WITHDRAWN)) {
        drop(withdrawn);
        return 0;
    }
    return send_below(withdrawn);
}
