/* Receives that know headers; see direct_recv.h. */
#include "shim/pmpi/direct_recv.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/direct/pull.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/mem/hostcopy.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/stream_comm.h"

enum stage { WAITING, PULLING, ASKING, FETCHING, COPYING, OVER };

/* How long a sender may take to withdraw what was refused: it may sit in a call
 * that waits for this very receive. */
#define ASKING_NS UINT64_C(5000000000)

struct mgds_direct_recv {
    struct mgds_buffer buffer;
    struct mgds_bounce *bounce; /* NULL: host memory */
    size_t capacity;            /* bytes that were posted */
    char *row;              /* of ours, below in place of the buffer; or NULL */
    struct mgds_kept *kept; /* that is to be delivered; or NULL */
    enum stage stage;
    int error;      /* negative errno, that poll ends with */
    MPI_Status end; /* what the program sees, from land on */
    struct mgds_header header;
    struct mgds_pull *pull;
    uint64_t since; /* ASKING */
    char *data;     /* FETCHING */
    MPI_Request request;
};

static bool is_dense(const struct mgds_direct_recv *recv)
{
    return mgds_layout_is_dense(recv->buffer.layout);
}

/* Where packed bytes land: a row of ours, the bounce, or, of dense host memory,
 * the program's own. */
static char *landing_of(const struct mgds_direct_recv *recv)
{
    if (recv->row)
        return recv->row;
    return recv->bounce ? mgds_bounce_base(recv->bounce)
                        : (char *)recv->buffer.addr;
}

/* A row for what is shorter than a header, for what is not in one piece in host
 * memory, and for who must not touch the program's memory yet. */
static bool needs_row(const struct mgds_direct_recv *recv, bool apart)
{
    return recv->capacity < MGDS_HEADER_BYTES ||
           (!recv->bounce && (apart || !is_dense(recv)));
}

static int add_row(struct mgds_direct_recv *recv,
                   struct mgds_direct_words *words)
{
    size_t bytes =
        recv->capacity < MGDS_HEADER_BYTES ? MGDS_HEADER_BYTES : recv->capacity;

    recv->row = mgds_malloc(bytes);
    if (!recv->row)
        return -ENOMEM;
    *words = (struct mgds_direct_words){recv->row, (MPI_Count)bytes, MPI_BYTE};
    return 0;
}

int mgds_direct_recv_create(struct mgds_direct_recv **out,
                            const struct mgds_buffer *buffer,
                            struct mgds_bounce *bounce,
                            struct mgds_direct_words *words, bool apart)
{
    struct mgds_direct_recv *recv = mgds_calloc(1, sizeof(*recv));

    if (!recv)
        return -ENOMEM;
    recv->buffer = *buffer;
    mgds_layout_get(recv->buffer.layout);
    recv->bounce = bounce;
    recv->capacity = buffer->layout->size * buffer->count;
    if (needs_row(recv, apart) && add_row(recv, words) < 0) {
        mgds_direct_recv_destroy(recv);
        return -ENOMEM;
    }
    *out = recv;
    return 0;
}

void mgds_direct_recv_destroy(struct mgds_direct_recv *recv)
{
    if (!recv)
        return;
    mgds_pull_destroy(recv->pull);
    mgds_layout_put(recv->buffer.layout);
    free(recv->kept);
    free(recv->data);
    free(recv->row);
    free(recv);
}

void mgds_direct_recv_give(struct mgds_direct_recv *recv,
                           struct mgds_kept *kept)
{
    free(recv->kept);
    recv->kept = kept;
}

static int give_late(struct mgds_direct_recv *recv, const void *header,
                     const MPI_Status *status)
{
    struct mgds_kept *kept = mgds_calloc(1, sizeof(*kept));

    if (!kept)
        return -ENOMEM;
    kept->status = *status;
    memcpy(kept->bytes, header, sizeof(kept->bytes));
    mgds_direct_recv_give(recv, kept);
    return 0;
}

static int create_late(struct mgds_direct_recv **out,
                       const struct mgds_direct_words *to, const void *header,
                       const MPI_Status *status)
{
    struct mgds_direct_words words = *to;
    struct mgds_buffer buffer;
    int rc = mgds_buffer_find(&buffer, to->addr, to->count, to->type);

    if (rc < 0)
        return rc;
    rc = mgds_direct_recv_create(out, &buffer, NULL, &words, false);
    mgds_buffer_put(&buffer);
    if (rc == 0)
        rc = give_late(*out, header, status);
    if (rc < 0) {
        mgds_direct_recv_destroy(*out);
        *out = NULL;
    }
    return rc;
}

/* An error does not hinder the bytes that fit. */
static void note(struct mgds_direct_recv *recv, int error)
{
    if (recv->error == 0)
        recv->error = error;
}

/* How many of a message's bytes are to be delivered. */
static size_t fit(struct mgds_direct_recv *recv, size_t bytes)
{
    if (bytes > recv->capacity) {
        note(recv, -EMSGSIZE);
        bytes = recv->capacity;
    }
    if (mgds_layout_tears(recv->buffer.layout, bytes))
        note(recv, -EBADMSG);
    mgds_below_set_bytes(&recv->end, (MPI_Count)bytes);
    return bytes;
}

/* The first bytes are at from, in host memory, packed: brings them to the
 * program's. Parts of elements are not. */
static void deliver(struct mgds_direct_recv *recv, const char *from,
                    size_t bytes)
{
    int rc;

    recv->stage = OVER;
    if (recv->error == -EBADMSG || bytes == 0)
        return;
    if (!recv->bounce) {
        if (from != (const char *)recv->buffer.addr)
            mgds_host_unpack(&recv->buffer, from, bytes);
        return;
    }
    mgds_buffer_count_staged(&recv->buffer);
    if (from != (char *)mgds_bounce_base(recv->bounce))
        memcpy(mgds_bounce_base(recv->bounce), from, bytes);
    rc = mgds_bounce_up(recv->bounce, 0, bytes);
    if (rc < 0)
        note(recv, rc);
    else
        recv->stage = COPYING;
}

/* What came is a message as any other. */
static void land_plain(struct mgds_direct_recv *recv, size_t bytes)
{
    char *landing = landing_of(recv);

    mgds_pull_batch_flush();
    if (recv->kept)
        memcpy(landing, recv->kept->bytes, bytes);
    if (recv->bounce && bytes >= mgds_direct_from())
        mgds_direct_try_samples(&recv->buffer.ptr);
    deliver(recv, landing, fit(recv, bytes));
}

static bool move(const struct mgds_direct_recv *recv, enum mgds_slot_state from,
                 enum mgds_slot_state to)
{
    return mgds_board_move(mgds_direct_board_of(&recv->header),
                           recv->header.slot, recv->header.serial, from, to);
}

/* Whose memory it is never hears of us again. */
static void tell(const struct mgds_direct_recv *recv, enum mgds_slot_state how)
{
    move(recv, MGDS_SLOT_TAKEN, how);
}

static void fail(struct mgds_direct_recv *recv, int rc)
{
    mgds_warn_once("a message in the GPU memory of another process cannot be "
                   "copied (error %d): set MPIX_GDS_PEERS=none",
                   -rc);
    note(recv, rc);
    recv->stage = OVER;
}

static void fail_pull(struct mgds_direct_recv *recv, int rc)
{
    mgds_direct_give_up(&recv->header);
    tell(recv, MGDS_SLOT_FAILED);
    fail(recv, rc);
}

/* Its memory cannot be mapped, for now or for good. */
static void refuse(struct mgds_direct_recv *recv, int rc)
{
    if (rc != -EBUSY)
        mgds_direct_give_up(&recv->header);
    tell(recv, MGDS_SLOT_REFUSED);
    recv->since = mgds_clock_ns();
    recv->stage = ASKING;
}

/* Where a pull may go at once: what is one piece in GPU memory gets it there.
 */
static char *target_of(const struct mgds_direct_recv *recv)
{
    const struct mgds_buffer *buffer = &recv->buffer;
    ptrdiff_t offset;

    return recv->bounce &&
                   mgds_layout_is_piece(buffer->layout, buffer->count, &offset)
               ? (char *)buffer->addr + offset
               : landing_of(recv);
}

/* The buffer itself is written, by its own device, which is this rank's alone.
 */
static bool is_near(const struct mgds_direct_recv *recv,
                    const struct mgds_context *ctx)
{
    return target_of(recv) != landing_of(recv) &&
           recv->buffer.ptr.kind == MGDS_PTR_DEVICE &&
           mgds_context_is_of_ptr(ctx, &recv->buffer.ptr) &&
           !mgds_direct_is_crowded(ctx);
}

static int pull_in(struct mgds_direct_recv *recv, struct mgds_context *ctx,
                   size_t bytes)
{
    const struct mgds_pull_to to = {
        .dst = target_of(recv), .bytes = bytes, .near = is_near(recv, ctx)};
    int rc = mgds_pull_create(&recv->pull, ctx, &recv->header, &to);

    if (rc != -EBUSY || mgds_scomms_used())
        return rc;
    /* no wait of ours can stand: what nobody uses may be closed */
    mgds_pull_batch_flush();
    mgds_comms_safe_point();
    return mgds_pull_create(&recv->pull, ctx, &recv->header, &to);
}

/* The context that has mapped the sample may be gone, where the program has
 * reset its device: that of the memory is there. */
static int start_pull(struct mgds_direct_recv *recv, size_t bytes)
{
    struct mgds_context *ctx = mgds_direct_context(&recv->header);
    int rc = ctx ? pull_in(recv, ctx, bytes) : -ENODEV;
    int other;

    if (rc == 0 || !recv->bounce)
        return rc;
    mgds_pull_batch_flush();
    other = mgds_context_of_ptr(&ctx, &recv->buffer.ptr);
    if (other < 0)
        return rc;
    rc = pull_in(recv, ctx, bytes);
    mgds_context_put(ctx);
    return rc;
}

static void pull(struct mgds_direct_recv *recv)
{
    size_t bytes = fit(recv, recv->header.bytes);
    int rc;

    recv->stage = PULLING;
    if (recv->error == -EBADMSG || bytes == 0) {
        tell(recv, MGDS_SLOT_DONE);
        recv->stage = OVER;
        return;
    }
    rc = start_pull(recv, bytes);
    if (rc < 0)
        refuse(recv, rc);
}

static void poll_pull(struct mgds_direct_recv *recv)
{
    size_t bytes = (size_t)mgds_below_bytes(&recv->end);
    int rc = mgds_pull_poll(recv->pull);

    if (rc == 0)
        return;
    if (rc < 0) {
        fail_pull(recv, rc);
    } else {
        /* the copy is over: the sender's memory is its own again */
        tell(recv, MGDS_SLOT_DONE);
        recv->stage = OVER;
        if (target_of(recv) == landing_of(recv))
            deliver(recv, landing_of(recv), bytes);
    }
    mgds_pull_destroy(recv->pull);
    recv->pull = NULL;
}

/* The sender sends them on a communicator of ours, under the slot's number. */
static void fetch(struct mgds_direct_recv *recv)
{
    const struct mgds_header *header = &recv->header;
    int rc;

    mgds_pull_batch_flush();
    mgds_count(direct_fetches);
    fit(recv, header->bytes);
    recv->data = mgds_malloc(header->bytes);
    rc = recv->data
             ? (int)MGDS_NEXT(Irecv_c, 7)(
                   (mgds_word)recv->data, (mgds_word)header->bytes,
                   (mgds_word)MPI_BYTE, (mgds_word)header->sender,
                   (mgds_word)header->slot, (mgds_word)mgds_direct_comm(),
                   (mgds_word)&recv->request)
             : MPI_ERR_NO_MEM;
    recv->stage = rc == MPI_SUCCESS ? FETCHING : OVER;
    if (rc != MPI_SUCCESS)
        note(recv, recv->data ? -EIO : -ENOMEM);
}

static void poll_fetch(struct mgds_direct_recv *recv)
{
    int flag = 0;

    if ((int)MGDS_NEXT(Test, 3)((mgds_word)&recv->request, (mgds_word)&flag,
                                (mgds_word)MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        note(recv, -EIO);
        recv->stage = OVER;
    } else if (flag) {
        deliver(recv, recv->data, (size_t)mgds_below_bytes(&recv->end));
    }
    if (recv->stage == FETCHING)
        return;
    free(recv->data);
    recv->data = NULL;
}

static enum mgds_slot_state state_of(const struct mgds_direct_recv *recv)
{
    return mgds_board_state(mgds_direct_board_of(&recv->header),
                            recv->header.slot, recv->header.serial);
}

/* The sender of what was refused does not wait any more. */
static bool is_given_up(const struct mgds_direct_recv *recv)
{
    enum mgds_slot_state state = state_of(recv);

    return state == MGDS_SLOT_FAILED || state == MGDS_SLOT_FREE;
}

static bool is_late(const struct mgds_direct_recv *recv)
{
    return mgds_clock_ns() - recv->since >= ASKING_NS;
}

/* The sender that is to withdraw it may wait for a message of this rank's that
 * was refused, too, or for one that the MPI below is sending. */
static void poll_ask(struct mgds_direct_recv *recv)
{
    if (move(recv, MGDS_SLOT_WITHDRAWN, MGDS_SLOT_FETCHED)) {
        fetch(recv);
    } else if (is_given_up(recv) ||
               (is_late(recv) &&
                move(recv, MGDS_SLOT_REFUSED, MGDS_SLOT_FAILED))) {
        fail(recv, -EIO);
    } else {
        mgds_direct_open_serve_refused();
        mgds_below_progress();
    }
}

/* By whoever comes first, the receiver or the sender, its slot is moved out of
 * OFFERED. False: it was no header of a message under way. */
static bool take(struct mgds_direct_recv *recv)
{
    if (move(recv, MGDS_SLOT_OFFERED, MGDS_SLOT_TAKEN))
        pull(recv);
    else if (move(recv, MGDS_SLOT_WITHDRAWN, MGDS_SLOT_FETCHED))
        fetch(recv);
    else if (state_of(recv) == MGDS_SLOT_FAILED) /* it could not be sent */
        fail(recv, -EIO);
    else
        return false;
    return true;
}

static void begin(struct mgds_direct_recv *recv, const MPI_Status *status)
{
    recv->stage = WAITING;
    recv->error = 0;
    recv->end = recv->kept ? recv->kept->status : *status;
}

int mgds_direct_recv_land(struct mgds_direct_recv *recv, MPI_Status *status)
{
    MPI_Count bytes = recv->kept ? MGDS_HEADER_BYTES : mgds_below_bytes(status);
    const void *at = recv->kept ? recv->kept->bytes : (void *)landing_of(recv);

    begin(recv, status);
    if (!mgds_direct_decode(&recv->header, at, bytes, &recv->end) ||
        !take(recv))
        land_plain(recv, (size_t)bytes);
    mgds_direct_recv_correct(recv, status);
    free(recv->kept);
    recv->kept = NULL;
    return recv->error;
}

/* Nobody will take the message: its sender need not wait, nor withdraw it. */
static void let_fail(const struct mgds_header *header)
{
    struct mgds_board *board = mgds_direct_board_of(header);

    if (mgds_board_move(board, header->slot, header->serial, MGDS_SLOT_OFFERED,
                        MGDS_SLOT_TAKEN))
        mgds_board_move(board, header->slot, header->serial, MGDS_SLOT_TAKEN,
                        MGDS_SLOT_FAILED);
}

int mgds_direct_recv_late(struct mgds_direct_recv **out,
                          const struct mgds_direct_words *to, const void *at,
                          MPI_Status *status)
{
    struct mgds_header header;
    int rc;

    if (!mgds_direct_decode(&header, at, mgds_below_bytes(status), status))
        return 0;
    rc = create_late(out, to, at, status);
    if (rc < 0) {
        let_fail(&header);
        return rc;
    }
    (void)mgds_direct_recv_land(*out, status);
    return 1;
}

int mgds_direct_recv_poll(struct mgds_direct_recv *recv)
{
    int rc;

    if (recv->stage == PULLING)
        poll_pull(recv);
    if (recv->stage == ASKING)
        poll_ask(recv);
    if (recv->stage == FETCHING)
        poll_fetch(recv);
    if (recv->stage == COPYING) {
        rc = mgds_bounce_poll(recv->bounce);
        if (rc == 0)
            return 0;
        if (rc < 0)
            note(recv, rc);
        recv->stage = OVER;
    }
    if (recv->stage == PULLING || recv->stage == ASKING ||
        recv->stage == FETCHING)
        return 0;
    rc = recv->error < 0 ? recv->error : 1;
    recv->error = 0;
    return rc;
}

bool mgds_direct_recv_pulls(const struct mgds_direct_recv *recv)
{
    return recv->stage == PULLING;
}

int mgds_direct_recv_wait(struct mgds_direct_recv *recv)
{
    int rc;

    while ((rc = mgds_direct_recv_poll(recv)) == 0)
        sched_yield();
    return rc < 0 ? rc : 0;
}

void mgds_direct_recv_correct(const struct mgds_direct_recv *recv,
                              MPI_Status *status)
{
    int error = status->MPI_ERROR;

    *status = recv->end;
    status->MPI_ERROR = error;
}
