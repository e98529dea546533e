/* A send and a receive of one call. */
#include "shim/pmpi/direct_exchange.h"

#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"

/* How far the two are. */
struct halves {
    struct mgds_direct_exchange *exchange;
    MPI_Status *status;
    MPI_Request came, sent;
    bool over, landed; /* the receive below; what it brought */
    bool received, left;
    int error; /* MPI's, the first */
    int met;   /* negative errno, the first */
};

static void note(struct halves *halves, int error, int met)
{
    if (halves->error == MPI_SUCCESS)
        halves->error = error;
    if (halves->met == 0 && met < 0)
        halves->met = met;
}

/* addr, count, type, dest, tag, comm */
static struct mgds_call_words send_words(const struct mgds_direct_exchange *ex)
{
    return (struct mgds_call_words){
        .word = {(mgds_word)ex->send.addr, (mgds_word)ex->send.count,
                 (mgds_word)ex->send.type, (mgds_word)ex->dest,
                 (mgds_word)ex->tag, (mgds_word)ex->from.comm},
        .words = 6,
        .large = true,
        .twin = MGDS_CALL_Send_c};
}

static int start_send(struct halves *halves)
{
    const struct mgds_direct_exchange *exchange = halves->exchange;
    const struct mgds_call_words words = send_words(exchange);
    const mgds_word *w = words.word;

    if (exchange->offer)
        return mgds_direct_offer_start(exchange->offer, &words);
    return (int)MGDS_NEXT(Isend_c, 7)(w[0], w[1], w[2], w[3], w[4], w[5],
                                      (mgds_word)&halves->sent);
}

/* Without the send there is no receive either. */
static void take_back(struct halves *halves)
{
    if (halves->came == MPI_REQUEST_NULL)
        return;
    MGDS_NEXT(Cancel, 1)((mgds_word)&halves->came);
    MGDS_NEXT(Wait, 2)
    ((mgds_word)&halves->came, (mgds_word)MPI_STATUS_IGNORE);
}

/* What passes meets no header: its source is MPI_PROC_NULL. */
static int post(struct halves *halves)
{
    const struct mgds_direct_exchange *exchange = halves->exchange;
    const struct mgds_side *recv = &exchange->recv;

    if (recv->direct)
        return mgds_direct_post(recv, &exchange->from, &halves->came);
    return (int)MGDS_NEXT(Irecv_c, 7)(
        (mgds_word)recv->addr, (mgds_word)recv->count, (mgds_word)recv->type,
        (mgds_word)exchange->from.source, (mgds_word)exchange->from.tag,
        (mgds_word)exchange->from.comm, (mgds_word)&halves->came);
}

/* The receive first, for a message of this process to itself. */
static int start(struct halves *halves)
{
    int rc = post(halves);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = start_send(halves);
    if (rc != MPI_SUCCESS)
        take_back(halves);
    return rc;
}

static bool step_request(MPI_Request *request, MPI_Status *status, int *error)
{
    int flag = 0;

    *error = (int)MGDS_NEXT(Test, 3)((mgds_word)request, (mgds_word)&flag,
                                     (mgds_word)status);
    return flag || *error != MPI_SUCCESS;
}

static bool may_land(const struct halves *halves)
{
    return !halves->exchange->apart || halves->left;
}

static void step_below(struct halves *halves)
{
    int error;

    halves->over = step_request(&halves->came, halves->status, &error);
    if (!halves->over)
        return;
    note(halves, error, 0);
    halves->received = !mgds_below_has_data(error);
}

static void step_receive(struct halves *halves)
{
    struct mgds_side *recv = &halves->exchange->recv;
    int rc;

    if (!halves->over)
        step_below(halves);
    if (!halves->over || halves->received || !may_land(halves))
        return;
    if (!halves->landed)
        note(halves, MPI_SUCCESS, mgds_side_land(recv, halves->status));
    halves->landed = true;
    rc = mgds_side_poll(recv);
    halves->received = rc != 0;
    note(halves, MPI_SUCCESS, rc);
}

static void step_send(struct halves *halves)
{
    struct mgds_direct_offer *offer = halves->exchange->offer;
    int error = MPI_SUCCESS;
    int rc;

    rc = offer ? mgds_direct_offer_poll(offer, &error)
               : step_request(&halves->sent, MPI_STATUS_IGNORE, &error);
    halves->left = rc != 0;
    note(halves, error, rc);
}

/* A step of both: true if they are over. */
static bool step(void *state)
{
    struct halves *halves = (struct halves *)state;

    if (!halves->received)
        step_receive(halves);
    if (!halves->left)
        step_send(halves);
    if (halves->landed)
        mgds_below_progress();
    return halves->received && halves->left;
}

int mgds_direct_exchange_run(struct mgds_direct_exchange *exchange,
                             MPI_Status *status)
{
    struct halves halves = {.exchange = exchange,
                            .status = status,
                            .came = MPI_REQUEST_NULL,
                            .sent = MPI_REQUEST_NULL};
    int rc = start(&halves);

    if (rc == MPI_SUCCESS)
        mgds_direct_open_wait(0, step, &halves);
    mgds_direct_offer_destroy(exchange->offer);
    if (rc == MPI_SUCCESS)
        rc = halves.error;
    return rc == MPI_SUCCESS ? mgds_mpi_error(exchange->from.comm, halves.met)
                             : rc;
}
