/* The world of world.h. The wire's opening and closing is replaced (--wrap):
 * nothing is connected, and no thread makes rounds. */
#include "tests/fuzz/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/wire/flight.h"
#include "shim/gds/wire/network.h"
#include "shim/gds/wire/peer.h"
#include "shim/gds/wire/seal.h"
#include "shim/gds/wire/state.h"
#include "tests/fuzz/digest.h"
#include "tests/fuzz/heads.h"

enum {
    MARGIN = 64,
    SEEN = 64,
    LANDINGS = 16,
    SEND_BYTE = 0x33,
    BODY_BYTE = 0x11,
    FREE_BYTE = 0xee
};

/* An operation of the program's and its buffer, with margins. */
struct work {
    struct mgds_op *op; /* NULL: the place is free, or it was dropped */
    unsigned char *memory;
    size_t bytes;
    bool send, any; /* from any source */
};

/* What was posted: names that a member may know. */
struct seen {
    uint64_t request_id, bytes;
};

/* A body that UCX is at. */
struct landing {
    void *where;
    size_t bytes;
    ucp_am_recv_data_nbx_callback_t done;
    void *arg;
};

/* Memory that does not count for digests. */
static struct world {
    uint64_t seed, random;
    struct mgds_comm *comm;
    struct mgds_layout *layout;
    struct mgds_wire_identity member[WORLD_RANKS];
    struct mgds_siphash_key wrong;
    uint64_t sent[WORLD_RANKS + 1]; /* the last: a process of no rank */
    uint64_t stray;
    uint64_t number[WORLD_RANKS]; /* of the next message */
    struct seen seen[SEEN];
    unsigned seens;
    struct work work[WORLD_WORKS];
    unsigned char *left[4096]; /* buffers of dropped operations */
    size_t left_bytes[4096];
    bool left_send[4096];
    unsigned lefts;
    struct landing landing[LANDINGS];
} * world;

void world_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: seed %" PRIu64 ": %s does not hold\n", file, line,
            world ? world->seed : 0, what);
    abort();
}

uint64_t world_draw(uint64_t below)
{
    world->random =
        world->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (world->random >> 24) % below;
}

/* The wire. */

/* What takes a body that waits at its sender: at once, or later. */
static ucs_status_ptr_t recv_data(ucp_worker_h worker, void *data, void *where,
                                  size_t bytes,
                                  const ucp_request_param_t *param)
{
    unsigned i = 0;

    (void)worker;
    (void)data;
    while (i < LANDINGS && world->landing[i].done)
        i++;
    if (i == LANDINGS || world_draw(2)) {
        memset(where, BODY_BYTE, bytes);
        return NULL;
    }
    world->landing[i] =
        (struct landing){where, bytes, param->cb.recv_am, param->user_data};
    return &world->landing[i];
}

static void request_free(void *request)
{
    (void)request;
}

static void *ep_close(ucp_ep_h endpoint, const ucp_request_param_t *param)
{
    (void)endpoint;
    (void)param;
    return UCS_STATUS_PTR(UCS_OK);
}

static const struct mgds_ucx ucx = {.ucp_am_recv_data_nbx = recv_data,
                                    .ucp_ep_close_nbx = ep_close,
                                    .ucp_request_free = request_free};

static void land(struct landing *landing)
{
    const struct landing it = *landing;
    bool fails = world_draw(8) == 0;

    landing->done = NULL;
    if (!fails)
        memset(it.where, BODY_BYTE, it.bytes);
    mgds_lock_acquire(&mgds_wire.lock);
    it.done(landing, fails ? UCS_ERR_CONNECTION_RESET : UCS_OK, it.bytes,
            it.arg);
    mgds_lock_release(&mgds_wire.lock);
}

static void land_all(void)
{
    for (unsigned i = 0; i < LANDINGS; i++)
        if (world->landing[i].done)
            land(&world->landing[i]);
}

int __wrap_mgds_wire_open(const struct mgds_config *config);
void __wrap_mgds_wire_close(void);

int __wrap_mgds_wire_open(const struct mgds_config *config)
{
    (void)config;
    mgds_net.ucx = &ucx;
    mgds_wire.self = world->member[WORLD_SELF];
    mgds_wire.accepting = true;
    return 0;
}

void __wrap_mgds_wire_close(void)
{
    mgds_wire.accepting = false;
    mgds_lock_acquire(&mgds_wire.lock);
    mgds_flights_cancel();
    mgds_wire_forget_senders();
    mgds_wire_forget_peers();
    mgds_flights_free_spare();
    mgds_lock_release(&mgds_wire.lock);
}

static void see(uint64_t request_id, uint64_t bytes)
{
    world->seen[world->seens++ % SEEN] = (struct seen){request_id, bytes};
}

static void look_at(const struct mgds_wire_flight *post)
{
    union mgds_envelope_head head;

    memcpy(&head, post->frame.head, sizeof(head));
    switch (mgds_wire_kind(&post->frame)) {
    case MGDS_ENVELOPE_RTS:
        see(head.rts.request_id, head.rts.bytes);
        break;
    case MGDS_ENVELOPE_PULL:
        see(head.pull.answer, head.pull.bytes);
        break;
    default:
        break;
    }
}

/* All that is posted has been sent. */
static void send_posts(void)
{
    struct mgds_wire_flights batch = TAILQ_HEAD_INITIALIZER(batch);
    struct mgds_wire_flight *post;

    mgds_lock_acquire(&mgds_wire.lock);
    while (mgds_flights_take_posted(&batch)) {
        while ((post = TAILQ_FIRST(&batch)) != NULL) {
            TAILQ_REMOVE(&batch, post, link);
            look_at(post);
            mgds_flight_end(post, 0);
        }
    }
    mgds_lock_release(&mgds_wire.lock);
}

/* Operations. */

size_t world_bytes(void)
{
    return world_draw(12) == 0 ? WORLD_LONG : world_draw(300);
}

static struct work *free_place(void)
{
    struct work *work = &world->work[world_draw(WORLD_WORKS)];

    return work->memory ? NULL : work;
}

static void call(bool send)
{
    struct work *work = free_place();
    struct mgds_xfer xfer = {.peer = 1 + (int)world_draw(WORLD_RANKS - 1),
                             .tag = (int)world_draw(3)};
    int rc;

    if (!work)
        return;
    *work = (struct work){.bytes = world_bytes(), .send = send};
    work->memory = malloc(work->bytes + (size_t)2 * MARGIN);
    CHECK(work->memory);
    memset(work->memory, FREE_BYTE, work->bytes + (size_t)2 * MARGIN);
    if (send)
        memset(work->memory + MARGIN, SEND_BYTE, work->bytes);
    work->any = !send && world_draw(4) == 0;
    if (work->any)
        xfer.peer = MGDS_ANY_SOURCE;
    if (!send && world_draw(4) == 0)
        xfer.tag = MGDS_ANY_TAG;
    xfer.sync = send && world_draw(4) == 0;
    xfer.buffer = (struct mgds_buffer){.addr = work->memory + MARGIN,
                                       .count = work->bytes,
                                       .layout = world->layout};
    rc = send ? mgds_op_send(&work->op, world->comm, &xfer)
              : mgds_op_recv(&work->op, world->comm, &xfer);
    CHECK(rc == 0);
}

static void check_memory(const unsigned char *memory, size_t bytes, bool send)
{
    for (size_t i = 0; i < MARGIN; i++) {
        CHECK(memory[i] == FREE_BYTE);
        CHECK(memory[MARGIN + bytes + i] == FREE_BYTE);
    }
    for (size_t i = 0; send && i < bytes; i++)
        CHECK(memory[MARGIN + i] == SEND_BYTE);
    for (size_t i = 0; !send && i < bytes; i++)
        CHECK(memory[MARGIN + i] == FREE_BYTE ||
              memory[MARGIN + i] == BODY_BYTE);
}

/* What a receive got is all that was written, if it went well. */
static void check_got(const struct work *work,
                      const struct mgds_op_status *status)
{
    if (work->send || (status->error && status->error != -EMSGSIZE))
        return;
    for (size_t i = status->bytes; i < work->bytes; i++)
        CHECK(work->memory[MARGIN + i] == FREE_BYTE);
}

static void end(struct work *work)
{
    struct mgds_op_status status;

    mgds_op_status(work->op, &status);
    check_got(work, &status);
    mgds_op_put(work->op);
    check_memory(work->memory, work->bytes, work->send);
    free(work->memory);
    *work = (struct work){.op = NULL};
}

static void test(struct work *work)
{
    if (work->op && mgds_op_test(work->op) == 1)
        end(work);
}

static void cancel(struct work *work)
{
    if (work->op && !work->send && mgds_op_cancel(work->op) == 1)
        test(work);
}

/* The program frees its request; the buffer stays its to keep. Not one that the
 * end of no peer ends. */
static void let_go(struct work *work)
{
    if (!work->op || work->any ||
        world->lefts == sizeof(world->left) / sizeof(void *))
        return;
    mgds_op_put(work->op);
    world->left[world->lefts] = work->memory;
    world->left_bytes[world->lefts] = work->bytes;
    world->left_send[world->lefts++] = work->send;
    *work = (struct work){.op = NULL};
}

static void probe(void)
{
    const struct mgds_probe any = {.peer = MGDS_ANY_SOURCE,
                                   .tag = MGDS_ANY_TAG};
    struct mgds_op_status status;

    mgds_comm_probe(world->comm, &any, &status);
}

void world_step(void)
{
    struct work *work = &world->work[world_draw(WORLD_WORKS)];

    switch (world_draw(10)) {
    case 0:
    case 1:
    case 2:
        call(false);
        break;
    case 3:
    case 4:
        call(true);
        break;
    case 5:
        cancel(work);
        break;
    case 6:
        if (world_draw(4) == 0)
            let_go(work);
        break;
    case 7:
        probe();
        break;
    case 8:
        land_all();
        break;
    default:
        test(work);
        break;
    }
    send_posts();
}

/* Frames. */

uint64_t world_request_id(uint64_t *bytes)
{
    const struct seen *seen = &world->seen[world_draw(SEEN)];

    *bytes = seen->bytes;
    return world_draw(8) == 0 ? world_draw(UINT64_MAX) : seen->request_id;
}

/* Of the sender's next message, or of a later one. */
uint64_t world_number(unsigned sender)
{
    uint64_t number =
        world->number[sender] + (world_draw(8) ? 0 : world_draw(9));

    world->number[sender] += world_draw(8) != 0;
    return number;
}

/* A few of its bytes are others. */
static void spoil(struct mgds_wire_frame *frame, size_t head_bytes)
{
    for (uint64_t n = world_draw(4); n > 0 && head_bytes > 0; n--)
        frame->head[world_draw(head_bytes)] = (char)world_draw(256);
}

void world_frame_make(struct world_frame *out, bool any)
{
    unsigned sender = 1 + (unsigned)world_draw(WORLD_RANKS - 1);
    unsigned kind = (unsigned)world_draw(MGDS_ENVELOPES);
    union mgds_envelope_head head;
    size_t head_bytes;

    memset(out, 0, sizeof(*out));
    memset(&head, 0, sizeof(head));
    head_bytes = heads_draw(&head, kind, sender, &out->body_bytes);
    memcpy(out->frame.head, &head, sizeof(head));
    if (world_draw(10) == 0)
        spoil(&out->frame, head_bytes);
    if (world_draw(20) == 0)
        head_bytes = world_draw(MGDS_WIRE_HEAD_BYTES + 1);
    if (world_draw(20) == 0)
        kind = (unsigned)world_draw(256);
    if (any && world_draw(10) == 0)
        sender = world_draw(2) ? WORLD_SELF : WORLD_RANKS;
    out->frame.from =
        sender < WORLD_RANKS ? world->member[sender].process : world->stray;
    out->frame.number = ++world->sent[sender];
    out->frame.shape = mgds_wire_shape(kind, out->body_bytes);
    out->bytes = mgds_wire_frame_bytes(head_bytes);
    out->fetched = world_draw(2) != 0;
}

void world_frame_seal(struct world_frame *frame, bool with_our_key)
{
    const struct mgds_wire_identity *self = &world->member[WORLD_SELF];
    const struct mgds_siphash begun =
        mgds_seal_begin(with_our_key ? &self->key : &world->wrong,
                        frame->frame.from, self->process);

    frame->frame.tag = mgds_seal_tag(&begun, &frame->frame, frame->bytes);
}

/* In memory of just its length, so that reading beyond is seen. */
void world_frame_come(const struct world_frame *frame)
{
    unsigned char *header = malloc(frame->bytes ? frame->bytes : 1);
    unsigned char *body = malloc(frame->body_bytes ? frame->body_bytes : 1);

    CHECK(header && body);
    memcpy(header, &frame->frame,
           frame->bytes < sizeof(frame->frame) ? frame->bytes
                                               : sizeof(frame->frame));
    memset(body, BODY_BYTE, frame->body_bytes);
    mgds_lock_acquire(&mgds_wire.lock);
    mgds_wire_arrive(header, frame->bytes, body, frame->body_bytes,
                     frame->fetched);
    mgds_lock_release(&mgds_wire.lock);
    free(header);
    free(body);
    send_posts();
}

/* Rounds. */

static void make_comm(void)
{
    static const char nowhere[] = "nowhere";
    struct mgds_member members[WORLD_RANKS];
    char *address[WORLD_RANKS];
    struct mgds_comm_spec spec = {
        .id = 77, .rank = WORLD_SELF, .size = WORLD_RANKS, .members = members};
    const void *own;
    size_t bytes;

    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        CHECK(mgds_wire_identity_draw(&world->member[i]) == 0);
        world->member[i].worker[MGDS_WIRE_WORKERS - 1] =
            (struct mgds_wire_where){nowhere, sizeof(nowhere)};
        members[i] = (struct mgds_member){
            .address_bytes = mgds_wire_address_bytes(&world->member[i]),
            .process = i + 1,
            .streams = i == WORLD_OTHER ? 2 : 0};
        address[i] = malloc(members[i].address_bytes);
        CHECK(address[i]);
        mgds_wire_address_write(address[i], &world->member[i]);
        members[i].address = address[i];
    }
    CHECK(mgds_comms_open(false, &own, &bytes) == 0);
    CHECK(mgds_comm_create(&world->comm, &spec) == 0);
    for (unsigned i = 0; i < WORLD_RANKS; i++)
        free(address[i]);
}

void world_open(uint64_t seed)
{
    struct mgds_wire_identity stranger;

    if (!world)
        world = digest_alloc(sizeof(*world));
    memset(world, 0, sizeof(*world));
    world->seed = seed;
    world->random = seed * 2654435761u + 1;
    CHECK(mgds_wire_identity_draw(&stranger) == 0);
    world->stray = stranger.process;
    world->wrong = stranger.key;
    CHECK(mgds_layout_bytes(&world->layout, 1, 1) == 0);
    make_comm();
}

static void lose(struct mgds_wire_peer *peer, void *arg)
{
    (void)arg;
    peer->stage = MGDS_WIRE_OPEN;
    mgds_wire_lose(peer, -ECONNRESET);
}

static void lose_all(void)
{
    mgds_lock_acquire(&mgds_wire.lock);
    mgds_wire_peers_visit(lose, NULL);
    mgds_wire_bury();
    mgds_lock_release(&mgds_wire.lock);
    send_posts();
}

void world_close(void)
{
    land_all();
    lose_all();
    for (unsigned i = 0; i < WORLD_WORKS; i++) {
        struct work *work = &world->work[i];

        cancel(work);
        if (work->op)
            CHECK(mgds_op_test(work->op) == 1);
        if (work->op)
            end(work);
    }
    mgds_comm_put(world->comm);
    mgds_comms_fini();
    mgds_layout_put(world->layout);
    for (unsigned i = 0; i < world->lefts; i++) {
        check_memory(world->left[i], world->left_bytes[i], world->left_send[i]);
        free(world->left[i]);
    }
}
