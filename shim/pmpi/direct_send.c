/* Sends by header; see direct_send.h. */
#include "shim/pmpi/direct_send.h"

#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/direct_withdraw.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/types.h"

/* A message whose header is under way. */
struct mgds_direct_offer {
    struct mgds_buffer buffer; /* with a reference to its layout */
    int peer;                  /* in MPI_COMM_WORLD */
    unsigned slot;             /* ours while open */
    bool open;
    uint64_t serial;
    int end;    /* withdrawn: 1 or negative errno */
    bool eager; /* it does not wait for its receiver */
    bool matched;
    struct mgds_direct_wait
        wait; /* since it was looked at; since it was matched */
    struct mgds_bounce *bounce; /* bringing */
    uint64_t again;             /* there was no memory: not before, ns */
    MPI_Request request;        /* the header's, unless a record has it */
};

/* Memory is asked for so often. */
#define AGAIN_NS UINT64_C(1000000)

/* Of each slot the header, which the MPI below reads until it is matched: for
 * longer than its offer is there, if that is withdrawn. */
static unsigned char headers[MGDS_BOARD_SLOTS][MGDS_HEADER_BYTES];

static void offer_fini(struct mgds_direct_offer *offer)
{
    if (offer->open)
        mgds_board_free(mgds_direct_own_board(), offer->slot);
    mgds_bounce_destroy(offer->bounce);
    mgds_buffer_put(&offer->buffer);
}

/* Its bytes are in the bounce. header: the one below, if it is not matched. 1,
 * or 0 if the receiver was first, or negative errno. */
static int withdraw(struct mgds_direct_offer *offer, enum mgds_slot_state from,
                    MPI_Request header)
{
    const struct mgds_withdrawal what = {.slot = offer->slot,
                                         .serial = offer->serial,
                                         .from = from,
                                         .peer = offer->peer,
                                         .bounce = offer->bounce,
                                         .header = header};
    int rc = mgds_direct_withdraw(&what);

    if (rc == 0)
        return 0;
    if (offer->eager && from == MGDS_SLOT_OFFERED)
        mgds_direct_was_late(offer->peer);
    offer->bounce = NULL;
    offer->open = false;
    offer->end = rc;
    return rc;
}

/* 0, or negative errno. */
static int bring(struct mgds_direct_offer *offer)
{
    int rc = mgds_buffer_find_again(&offer->buffer);

    if (rc != 1)
        return rc < 0 ? rc : -EFAULT;
    rc = mgds_buffer_stage(&offer->bounce, &offer->buffer, MGDS_BOUNCE_PACKED);
    return rc < 0 ? rc : mgds_bounce_down(offer->bounce, 0, SIZE_MAX);
}

static void begin_to_wait(struct mgds_direct_offer *offer)
{
    offer->wait = (struct mgds_direct_wait){
        .since = mgds_clock_ns(), .served = mgds_direct_serving(offer->peer)};
}

static void match(struct mgds_direct_offer *offer)
{
    offer->matched = true;
    begin_to_wait(offer);
}

static bool is_late(const struct mgds_direct_offer *offer)
{
    return mgds_direct_is_late(&offer->wait, mgds_clock_ns(),
                               mgds_direct_serving(offer->peer));
}

static bool is_due(const struct mgds_direct_offer *offer,
                   enum mgds_slot_state state)
{
    return state == MGDS_SLOT_REFUSED ||
           mgds_direct_is_due(&offer->wait, mgds_clock_ns(),
                              mgds_direct_serving(offer->peer), offer->eager);
}

/* Nobody has it, and its time is over, or not yet. */
static int try_back(struct mgds_direct_offer *offer, bool due,
                    enum mgds_slot_state from, MPI_Request header)
{
    int rc;

    if (!offer->bounce)
        return due && mgds_clock_ns() >= offer->again ? bring(offer) : 0;
    rc = mgds_bounce_poll(offer->bounce);
    return rc == 1 ? withdraw(offer, from, header) : rc;
}

/* The bytes could not be copied, and the receiver must not take the header for
 * data. The slot says so for ever, since nobody tells when that has looked.
 * Where there was no memory, which may be there later, or the receiver was
 * first, the offer stays. */
static int give_up(struct mgds_direct_offer *offer, enum mgds_slot_state from,
                   int rc)
{
    mgds_bounce_destroy(offer->bounce);
    offer->bounce = NULL;
    offer->again = mgds_clock_ns() + AGAIN_NS;
    if (rc == -ENOMEM ||
        !mgds_board_move(mgds_direct_own_board(), offer->slot, offer->serial,
                         from, MGDS_SLOT_FAILED))
        return 0;
    offer->open = false;
    offer->end = rc;
    return rc;
}

static int take_back(struct mgds_direct_offer *offer, bool due,
                     enum mgds_slot_state from, MPI_Request header)
{
    int rc = try_back(offer, due, from, header);

    return rc < 0 && offer->open ? give_up(offer, from, rc) : rc;
}

/* Nobody has it: OFFERED or REFUSED. */
static int poll_left(struct mgds_direct_offer *offer,
                     enum mgds_slot_state state)
{
    if (!offer->matched)
        match(offer);
    return take_back(offer, is_due(offer, state), state, MPI_REQUEST_NULL);
}

/* The header is below, not matched. 1: it is left there, since the send does
 * not wait for it any more; or negative errno. */
static int poll_unmatched(struct mgds_direct_offer *offer, MPI_Request *header)
{
    int rc;

    if (!offer->eager)
        return 0;
    if (offer->wait.since == 0)
        begin_to_wait(offer);
    rc = take_back(offer, is_late(offer), MGDS_SLOT_OFFERED, *header);
    if (offer->open)
        return 0;
    if (rc == 1)
        mgds_count(direct_unmatched);
    *header = MPI_REQUEST_NULL;
    return rc;
}

/* The header was matched: 1 if the send is over, 0 not yet, or negative errno.
 */
static int poll_offer(struct mgds_direct_offer *offer)
{
    enum mgds_slot_state state;

    if (!offer->open)
        return offer->end;
    state =
        mgds_board_state(mgds_direct_own_board(), offer->slot, offer->serial);
    switch (state) {
    case MGDS_SLOT_OFFERED:
    case MGDS_SLOT_REFUSED:
        return poll_left(offer, state);
    case MGDS_SLOT_TAKEN:
        return 0;
    default: /* the receiver has said its last word */
        return 1;
    }
}

/* Which message a call sends, and how it could go. */
static bool is_buffered(const struct mgds_call_words *call)
{
    return call->twin == MGDS_CALL_Bsend_c || call->twin == MGDS_CALL_Ibsend_c;
}

/* Which does not wait for its receiver, if the message is short. */
static bool is_standard(const struct mgds_call_words *call)
{
    return call->twin != MGDS_CALL_Ssend_c && call->twin != MGDS_CALL_Issend_c;
}

/* Most messages are told to be short without a look at their memory. */
static bool is_short(const struct mgds_call_words *call, MPI_Count count)
{
    size_t size = mgds_type_basic_size((MPI_Datatype)call->word[2]);

    return size > 0 && (size_t)count < (mgds_direct_from() + size - 1) / size;
}

/* 1: the memory is GPU memory, and buffer has a reference to its layout. */
static int look(struct mgds_buffer *buffer, const struct mgds_call_words *call)
{
    MPI_Count count = mgds_call_count(call, 1);
    MPI_Datatype type = (MPI_Datatype)call->word[2];
    int rc;

    if (is_buffered(call) || (int)call->word[3] < 0 || count <= 0 ||
        is_short(call, count) || !mgds_type_committed(type))
        return 0;
    rc = mgds_buffer_find(buffer, (const void *)call->word[0], count, type);
    if (rc == 0)
        mgds_buffer_put(buffer);
    if (rc == 1)
        mgds_buffer_settle(buffer);
    return rc == 1;
}

/* Long enough, to a peer that could take it: what stands against it. */
static void count_staged(const struct mgds_direct_message *message,
                         enum mgds_direct_peer peer)
{
    if (message->bytes < mgds_direct_from() || peer == MGDS_DIRECT_PEER_FAR)
        return;
    if (!message->exportable)
        mgds_count(direct_unmappable);
    else if (!message->dense)
        mgds_count(direct_gaps);
}

static enum mgds_direct_choice choose(const struct mgds_buffer *buffer,
                                      int peer)
{
    const struct mgds_direct_message message = {
        .exportable = buffer->ptr.kind == MGDS_PTR_DEVICE,
        .dense = mgds_buffer_piece(buffer) != NULL,
        .bytes = buffer->layout->size * buffer->count};
    const struct mgds_direct_from from = {mgds_direct_from(),
                                          mgds_direct_from_shared()};
    enum mgds_direct_peer known = mgds_direct_peer(peer, buffer->ptr.device);

    count_staged(&message, known);
    return mgds_direct_choose(&message, known, &from);
}

/* 1: a slot was taken, and the header is written; 0: without one. */
static int write_header(struct mgds_direct_offer *offer,
                        const struct mgds_call_words *call)
{
    const struct mgds_buffer *buffer = &offer->buffer;
    struct mgds_header header = {.tag = (int)call->word[4],
                                 .bytes = buffer->layout->size * buffer->count,
                                 .address =
                                     (uintptr_t)mgds_buffer_piece(buffer),
                                 .device = (uint32_t)buffer->ptr.device};
    int slot;

    if (mgds_export_of(&header.memory, &buffer->ptr) < 0)
        return 0;
    MGDS_NEXT(Comm_rank, 2)(call->word[5], (mgds_word)&header.source);
    slot = mgds_board_offer(mgds_direct_own_board(), &header.serial);
    if (slot < 0)
        return 0;
    header.slot = offer->slot = (unsigned)slot;
    offer->serial = header.serial;
    offer->open = true;
    mgds_direct_encode(headers[offer->slot], &header, offer->peer);
    return 1;
}

/* 1: the call goes by header, and offer is to be finished; 0: it does not. */
static int prepare(struct mgds_direct_offer *offer,
                   const struct mgds_call_words *call)
{
    int rc = 0;

    *offer =
        (struct mgds_direct_offer){.peer = -1, .request = MPI_REQUEST_NULL};
    if (!look(&offer->buffer, call))
        return 0;
    offer->peer =
        mgds_direct_world_rank((MPI_Comm)call->word[5], (int)call->word[3]);
    offer->eager =
        is_standard(call) &&
        offer->buffer.layout->size * offer->buffer.count <= mgds_direct_eager();
    switch (choose(&offer->buffer, offer->peer)) {
    case MGDS_DIRECT_HEADER:
        if (!offer->eager || !mgds_direct_stage_instead(offer->peer))
            rc = write_header(offer, call);
        break;
    case MGDS_DIRECT_SAMPLE:
        mgds_direct_post_sample(&offer->buffer.ptr);
        break;
    default:
        break;
    }
    if (rc == 0)
        offer_fini(offer);
    return rc;
}

static int send_header(const struct mgds_direct_offer *offer,
                       const struct mgds_call_words *call, MPI_Request *request)
{
    mgds_count(direct_sends);
    return (int)MGDS_NEXT(Issend, 7)(
        (mgds_word)headers[offer->slot], MGDS_HEADER_BYTES, (mgds_word)MPI_BYTE,
        call->word[3], call->word[4], call->word[5], (mgds_word)request);
}

int mgds_direct_offer_poll(struct mgds_direct_offer *offer, int *error)
{
    int flag = 1;

    *error = MPI_SUCCESS;
    if (offer->request != MPI_REQUEST_NULL)
        *error = (int)MGDS_NEXT(Test, 3)((mgds_word)&offer->request,
                                         (mgds_word)&flag,
                                         (mgds_word)MPI_STATUS_IGNORE);
    if (*error != MPI_SUCCESS)
        return 1;
    return flag ? poll_offer(offer) : poll_unmatched(offer, &offer->request);
}

int mgds_direct_offer_start(struct mgds_direct_offer *offer,
                            const struct mgds_call_words *call)
{
    return send_header(offer, call, &offer->request);
}

int mgds_direct_offer_create(struct mgds_direct_offer **out,
                             const struct mgds_call_words *call)
{
    struct mgds_direct_offer *offer;

    if (!mgds_direct_armed())
        return 0;
    offer = mgds_malloc(sizeof(*offer));
    if (!offer || !prepare(offer, call)) {
        free(offer);
        return 0;
    }
    *out = offer;
    return 1;
}

void mgds_direct_offer_destroy(struct mgds_direct_offer *offer)
{
    if (!offer)
        return;
    offer_fini(offer);
    free(offer);
}

/* An offer that is waited for, and how it ended. */
struct awaited {
    struct mgds_direct_offer *offer;
    int error; /* MPI's code of what the header met */
    int rc;    /* of the message: negative errno; 1: it is over */
};

static bool is_over(void *state)
{
    struct awaited *awaited = (struct awaited *)state;

    awaited->rc = mgds_direct_offer_poll(awaited->offer, &awaited->error);
    if (awaited->rc == 0 && awaited->offer->request == MPI_REQUEST_NULL)
        mgds_below_progress();
    return awaited->rc != 0;
}

/* MPI's code of what the header met; *met: negative errno of the message. */
static int wait_offer(struct mgds_direct_offer *offer, int *met)
{
    struct awaited awaited = {.offer = offer};

    mgds_direct_open_wait(0, is_over, &awaited);
    *met = awaited.rc < 0 ? awaited.rc : 0;
    return awaited.error;
}

bool mgds_direct_send(mgds_word *result, const struct mgds_call_words *call)
{
    struct mgds_direct_offer offer;
    int rc, met = 0;

    if (!mgds_direct_armed() || !prepare(&offer, call))
        return false;
    mgds_request_orphans_poll();
    rc = mgds_direct_offer_start(&offer, call);
    if (rc == MPI_SUCCESS)
        rc = wait_offer(&offer, &met);
    offer_fini(&offer);
    *result = (mgds_word)(rc == MPI_SUCCESS
                              ? mgds_mpi_error((MPI_Comm)call->word[5], met)
                              : rc);
    return true;
}

/* A nonblocking one: the request below is the header's. */
struct offered {
    struct mgds_request request; /* first */
    struct mgds_direct_offer offer;
};

static bool offered_overtake(struct mgds_request *request)
{
    struct offered *offered = (struct offered *)request;

    return poll_unmatched(&offered->offer, &request->below) != 0;
}

static int offered_poll(struct mgds_request *request)
{
    return poll_offer(&((struct offered *)request)->offer);
}

static void offered_release(struct mgds_request *request)
{
    struct mgds_direct_offer *offer = &((struct offered *)request)->offer;

    mgds_direct_open_end_offer(offer->slot, request);
    offer_fini(offer);
}

/* Its bytes may be under way already, and nobody else's would be. */
static void offered_cancel(struct mgds_request *request)
{
    (void)request;
}

static const struct mgds_request_ops offered_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED,
    .overtake = offered_overtake,
    .poll = offered_poll,
    .cancel = offered_cancel,
    .release = offered_release};

/* 1: a record with the header; 0: the call does not go by header, or there is
 * no memory to let it. */
static int offered_create(struct offered **out,
                          const struct mgds_call_words *call)
{
    struct mgds_direct_offer offer;
    struct offered *offered;

    if (!prepare(&offer, call))
        return 0;
    offered = mgds_request_new(sizeof(*offered), &offered_ops,
                               (MPI_Comm)call->word[5]);
    if (!offered) {
        offer_fini(&offer);
        return 0;
    }
    offered->offer = offer;
    *out = offered;
    return mgds_grequest_start(&offered->request) == 0;
}

bool mgds_direct_isend(mgds_word *result, const struct mgds_call_words *call)
{
    struct offered *offered;
    int rc;

    if (!mgds_direct_armed() || !offered_create(&offered, call))
        return false;
    mgds_request_orphans_poll();
    rc = send_header(&offered->offer, call, &offered->request.below);
    if (rc == MPI_SUCCESS) {
        mgds_grequest_begin(&offered->request, (MPI_Request *)call->word[6]);
        mgds_direct_open_offer(offered->offer.slot, &offered->request);
    } else {
        mgds_grequest_drop(&offered->request);
    }
    *result = (mgds_word)rc;
    return true;
}
