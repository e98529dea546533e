/* Programs in an engine; see world.h. */
#include "tests/engine/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/stats.h"
#include "tests/engine/loop_wire.h"
#include "tests/engine/witness.h"

enum { ROOM = 2 * PROGRAM_LONG + 64, EMPTY = 0xee, OVER = 0x55, STREAMS = 2 };

static uint64_t ids; /* of communicators, ever */

/* Memory. */

/* What each operation sends, and memory that nobody has written to. */
static unsigned char sent[PROGRAM_OPS][ROOM], empty[ROOM];

static void make_bytes(void)
{
    if (empty[0] == EMPTY)
        return;
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        for (unsigned at = 0; at < ROOM; at++)
            sent[i][at] = (unsigned char)(37 * i + 7 * at + at / 251 + 1);
    memset(empty, EMPTY, sizeof(empty));
}

/* Where the packed byte is. */
static size_t place_of(const struct program_op *spec, size_t at)
{
    return spec->vector ? at / 2 * 4 + at % 2 : at;
}

static unsigned number_of(const struct world_op *op)
{
    return (unsigned)(op - op->world->op);
}

static void fill(const struct world_op *op)
{
    const unsigned char *from = sent[number_of(op)];

    memcpy(op->memory, empty, ROOM);
    if (op->spec->send && !op->spec->vector)
        memcpy(op->memory, from, op->spec->bytes);
    for (size_t i = 0; op->spec->vector && i < op->spec->bytes; i++)
        if (op->spec->send)
            op->memory[place_of(op->spec, i)] = from[i];
}

static void make_op(struct world *world, unsigned number)
{
    struct world_op *op = &world->op[number];
    struct mgds_layout *byte;

    op->spec = &world->program->op[number];
    op->world = world;
    op->memory = (unsigned char *)aligned_alloc(64, ROOM);
    if (!op->memory || mgds_layout_bytes(&byte, 1, 1) < 0)
        abort();
    op->layout = byte;
    if (op->spec->vector) {
        if (mgds_layout_hvector(&op->layout, byte, op->spec->bytes / 2, 2, 4) <
            0)
            abort();
        mgds_layout_put(byte);
    }
    fill(op);
}

static bool is_used(const struct program_op *spec)
{
    return spec->send || spec->bytes > 0 || spec->caller > 0;
}

/* The program stores over what it has sent. */
static void store_over(void *arg)
{
    const struct world_op *op = (const struct world_op *)arg;

    memset(op->memory, OVER, op->spec->bytes);
}

static unsigned sender_of(const struct world_op *op)
{
    return op->spec->any ? (unsigned)(op->status.tag - PROGRAM_TAG)
                         : op->spec->of;
}

/* The first byte that is not as it was sent; bytes: all are. */
static size_t first_wrong(const struct world_op *op, unsigned from,
                          size_t bytes)
{
    size_t i = 0;

    if (!op->spec->vector && !memcmp(op->memory, sent[from], bytes))
        return bytes;
    while (i < bytes && op->memory[place_of(op->spec, i)] == sent[from][i])
        i++;
    return i;
}

/* What the program finds in its buffer when it may look. */
static void look_at(struct world_op *op)
{
    unsigned from = sender_of(op);
    size_t due, wrong;

    if (op->status.cancelled || op->status.error == -ECANCELED)
        return;
    if (from >= PROGRAM_OPS) {
        hand_fault("receive %u has tag %d", number_of(op), op->status.tag);
        return;
    }
    due = op->world->op[from].spec->bytes;
    if (due > op->spec->bytes)
        due = op->spec->bytes;
    wrong = first_wrong(op, from, due);
    if (wrong < due)
        hand_fault("byte %zu of receive %u is 0x%02x", wrong, number_of(op),
                   op->memory[place_of(op->spec, wrong)]);
}

static void look(void *arg)
{
    struct world_op *op = (struct world_op *)arg;

    look_at(op);
    /* what it has read: the memory may go */
    __atomic_fetch_add(&op->checked, 1, __ATOMIC_RELEASE);
}

/* Calls. */

static struct mgds_xfer xfer_of(const struct world_op *op)
{
    const struct program_op *spec = op->spec;
    const struct world *world = op->world;
    unsigned domain = world->domains > 1 ? spec->caller : 0;
    struct mgds_xfer xfer = {
        .buffer = {.addr = op->memory,
                   .count = spec->vector ? 1 : spec->bytes,
                   .layout = op->layout},
        .gpu = !spec->host,
        .peer = spec->any            ? MGDS_ANY_SOURCE
                : world->domains > 1 ? !domain
                                     : 0,
        .tag = spec->any
                   ? MGDS_ANY_TAG
                   : PROGRAM_TAG + (int)(spec->send ? number_of(op) : spec->of),
        .from_index = spec->send ? spec->stream : spec->other,
        .to_index = spec->send ? spec->other : spec->stream,
        .sync = spec->sync,
        .enqueued = !spec->plain};

    if (!spec->host)
        hand_memory(&xfer.buffer.ptr, op->memory, ROOM,
                    world->domains > 1 ? spec->caller : 0);
    return xfer;
}

static struct mgds_domain *domain_of(const struct world_op *op)
{
    const struct world *world = op->world;

    return world->domain[world->domains > 1 ? op->spec->caller : 0];
}

static struct mgds_gstream *stream_of(const struct world *world,
                                      unsigned caller, unsigned index)
{
    return world->stream[world->domains > 1 ? caller : 0][index];
}

static void store_status(void *arg, const struct mgds_op_status *status)
{
    struct world_op *op = (struct world_op *)arg;

    op->status = *status;
    __atomic_fetch_add(&op->told, 1, __ATOMIC_RELEASE);
}

static void expect(int rc, const char *what)
{
    if (rc != 0)
        hand_fault("%s gave %d", what, rc);
}

static void start(struct world_op *op)
{
    const struct mgds_xfer xfer = xfer_of(op);

    op->started = true;
    expect((op->spec->send ? mgds_op_send : mgds_op_recv)(&op->op,
                                                          domain_of(op), &xfer),
           "a call that starts an operation");
}

/* The program's own work behind the wait. */
static void put_look(struct world_op *op, struct mgds_gstream *stream)
{
    hand_call(stream, op->spec->send ? store_over : look, op);
}

static void run(struct world_op *op, struct mgds_gstream *stream)
{
    const struct mgds_xfer xfer = xfer_of(op);
    const struct mgds_op_sink sink = {store_status, op};

    op->started = true;
    expect(mgds_op_run(domain_of(op), &xfer, op->spec->send, &sink),
           "a call that runs an operation");
    put_look(op, stream);
}

static void wait(struct world_op *op, unsigned count,
                 struct mgds_gstream *stream)
{
    struct mgds_op *ops[2] = {op->op, NULL};
    struct mgds_op_sink sinks[2] = {{store_status, op}, {NULL, NULL}};

    if (count > 1) {
        ops[1] = op[1].op;
        sinks[1] = (struct mgds_op_sink){store_status, &op[1]};
    }
    expect(mgds_op_wait_enqueue(stream, count, ops, sinks), "a wait");
    for (unsigned i = 0; i < count; i++) {
        op[i].op = NULL;
        put_look(&op[i], stream);
    }
}

static bool test(struct world_op *op)
{
    if (mgds_op_test(op->op) != 1)
        return false;
    mgds_op_status(op->op, &op->status);
    __atomic_fetch_add(&op->told, 1, __ATOMIC_RELEASE);
    mgds_op_put(op->op);
    op->op = NULL;
    if (op->spec->send)
        store_over(op);
    else
        look(op);
    return true;
}

static struct mgds_probe probe_of(const struct world_op *op)
{
    const struct mgds_xfer xfer = xfer_of(op);

    return (struct mgds_probe){.peer = xfer.peer,
                               .tag = xfer.tag,
                               .from_index = xfer.from_index,
                               .to_index = xfer.to_index};
}

static bool probe(const struct world_op *op)
{
    const struct mgds_probe what = probe_of(op);
    struct mgds_op_status status;

    return mgds_domain_probe(domain_of(op), &what, &status) == 1;
}

static bool receive_probed(struct world_op *op)
{
    const struct mgds_probe what = probe_of(op);
    const struct mgds_xfer xfer = xfer_of(op);
    struct mgds_message *message;
    struct mgds_op_status status;

    if (mgds_domain_mprobe(&message, domain_of(op), &what, &status) != 1)
        return false;
    op->started = true;
    expect(mgds_op_mrecv(&op->op, message, &xfer), "Mrecv");
    return true;
}

const struct program_call *world_next(const struct world *world,
                                      unsigned caller)
{
    const struct program_call *call =
        &world->program->call[caller][world->next[caller]];

    return call->act == PROGRAM_END ? NULL : call;
}

int world_queue(const struct world *world, unsigned caller)
{
    const struct program_call *call = world_next(world, caller);
    unsigned index;

    if (!call)
        return -1;
    index = call->act == PROGRAM_START || call->act == PROGRAM_RUN
                ? world->program->op[call->op].stream
                : call->stream;
    return (int)((world->domains > 1 ? STREAMS * caller : 0) + index);
}

static bool make(struct world *world, unsigned caller,
                 const struct program_call *call)
{
    struct world_op *op = &world->op[call->op];

    switch (call->act) {
    case PROGRAM_START:
        start(op);
        return true;
    case PROGRAM_RUN:
        if (!op->spec->instead || op[-1].cancelled)
            run(op, stream_of(world, caller, op->spec->stream));
        return true;
    case PROGRAM_WAIT:
    case PROGRAM_WAIT2:
        wait(op, call->act == PROGRAM_WAIT ? 1 : 2,
             stream_of(world, caller, call->stream));
        return true;
    case PROGRAM_TEST:
        return test(op);
    case PROGRAM_FREE:
        op->freed = true;
        mgds_op_put(op->op);
        op->op = NULL;
        return true;
    case PROGRAM_CANCEL:
        op->cancelled = mgds_op_cancel(op->op);
        return true;
    case PROGRAM_PROBE:
        return probe(op);
    case PROGRAM_MRECV:
        return receive_probed(op);
    default:
        return true;
    }
}

bool world_call(struct world *world, unsigned caller)
{
    const struct program_call *call = world_next(world, caller);

    if (!make(world, caller, call)) {
        world->attempts[caller]++;
        return false;
    }
    world->attempts[caller] = 0;
    world->next[caller]++;
    return true;
}

/* Made, and ended. */

static struct mgds_domain_spec spec_of(struct world *world, unsigned rank)
{
    return (struct mgds_domain_spec){.id = ids + rank,
                                     .rank = rank,
                                     .size = world->domains,
                                     .members = world->member,
                                     .streams = world->stream[rank],
                                     .stream_count = STREAMS,
                                     .channels = world->channels[rank]};
}

/* Each has its rings before any hears of them. */
static void make_channels(struct world *world, unsigned rank)
{
    const struct mgds_domain_spec spec = spec_of(world, rank);

    expect(mgds_channels_create(&world->channels[rank], &spec),
           "mgds_channels_create");
}

static void hear(struct world *world, unsigned rank, unsigned other)
{
    char *text = (char *)malloc(mgds_channels_description(STREAMS));

    if (!text)
        abort();
    mgds_channels_describe(world->channels[other], text);
    mgds_channels_connect(world->channels[rank], other, text);
    free(text);
}

static void make_domain(struct world *world, unsigned rank)
{
    const struct mgds_domain_spec spec = spec_of(world, rank);

    for (unsigned i = 0; i < world->domains; i++)
        hear(world, rank, i);
    expect(mgds_domain_create(&world->domain[rank], &spec),
           "mgds_domain_create");
    loop_domain[rank] = spec.id;
}

void world_open(struct world *world, const struct program *program)
{
    const void *address;
    size_t bytes;

    *world =
        (struct world){.program = program, .domains = program->pair ? 2 : 1};
    make_bytes();
    hand_gpu_open();
    witness_open();
    if (program->refuses)
        hand_import_fails(-(int)program->refuses);
    if (program->scarce)
        hand_pinned_is_short(program->scarce - 1u);
    world->refused = mgds_stats_value(MGDS_STAT_envelopes_refused);
    ids += 2;
    expect(mgds_domains_open(false, &address, &bytes), "mgds_domains_open");
    for (unsigned i = 0; i < world->domains; i++)
        for (unsigned k = 0; k < STREAMS; k++)
            world->stream[i][k] = hand_stream(i);
    for (unsigned i = 0; i < world->domains; i++)
        world->member[i] = (struct mgds_member){.address = &wire_address[i],
                                                .address_bytes = 1,
                                                .process = i + 1,
                                                .streams = STREAMS,
                                                .host = 1};
    for (unsigned i = 0; i < world->domains; i++)
        make_channels(world, i);
    for (unsigned i = 0; i < world->domains; i++)
        make_domain(world, i);
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        if (is_used(&program->op[i]))
            make_op(world, i);
}

/* As a program sees the end of its receives. */
static void check_recv(const struct world_op *op)
{
    const struct mgds_op_status *status = &op->status;
    unsigned from = sender_of(op), number = number_of(op);
    const struct program_op *send = &op->world->program->op[from % PROGRAM_OPS];
    size_t due = send->bytes < op->spec->bytes ? send->bytes : op->spec->bytes;
    int error = send->bytes > op->spec->bytes ? -EMSGSIZE : 0;
    int source = op->world->domains > 1 ? !op->spec->caller : 0;

    if (status->cancelled != op->cancelled)
        hand_fault("receive %u was cancelled, or not", number);
    if (op->cancelled)
        return;
    if (from >= PROGRAM_OPS || status->error != error ||
        status->source != source || status->index != send->stream ||
        status->tag != PROGRAM_TAG + (int)from || status->bytes != due)
        hand_fault("receive %u: error %d, source %d, index %d, tag %d, %zu "
                   "bytes",
                   number, status->error, status->source, status->index,
                   status->tag, status->bytes);
}

/* And of its memory: freed receives get their bytes, too. */
static void check_memory(struct world_op *op)
{
    size_t end = place_of(op->spec, op->spec->bytes);
    unsigned copies = hand_copies_to(op->memory);

    if (memcmp(op->memory + end, empty, ROOM - end) != 0)
        hand_fault("memory behind receive %u was written", number_of(op));
    if (copies > 1)
        hand_fault("receive %u was copied %u times", number_of(op), copies);
}

static void check_op(struct world_op *op)
{
    unsigned told = __atomic_load_n(&op->told, __ATOMIC_ACQUIRE), checked;

    if (!op->freed && told != 1)
        hand_fault("operation %u has ended %u times", number_of(op), told);
    if (op->spec->send) {
        if (op->status.error)
            hand_fault("send %u ended with %d", number_of(op),
                       op->status.error);
        return;
    }
    if (!op->freed && told == 1)
        check_recv(op);
    checked = __atomic_load_n(&op->checked, __ATOMIC_ACQUIRE);
    if (!op->freed && checked != 1)
        hand_fault("receive %u was passed %u times", number_of(op), checked);
    check_memory(op);
}

void world_check(struct world *world)
{
    for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
        if (world_next(world, i))
            hand_fault("call %u of caller %u does not end", world->next[i], i);
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        if (world->op[i].started)
            check_op(&world->op[i]);
}

void world_check_queues(void)
{
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        if (hand_left(i) > 0)
            hand_fault("queue %u stands, with %u commands", i, hand_left(i));
}

/* A receive whose request was freed has its bytes when all is over. */
static void check_freed(struct world_op *op)
{
    if (!op->started || !op->freed || op->spec->send || op->cancelled)
        return;
    op->status.tag = PROGRAM_TAG + op->spec->of;
    look(op);
    check_memory(op);
}

static void drain_domain(struct mgds_domain *domain, void (*drain)(void))
{
    const struct mgds_drain_rule rule = {
        .call = "the end of a test", .timeout = 1, .idle = drain};
    unsigned left = 0;
    int rc = mgds_domain_drain(domain, &rule, &left);

    if (rc < 0)
        hand_fault("%u operations are not over at the end: %d", left, rc);
}

static void check_debts(struct world *world)
{
    for (unsigned i = 0; i < world->domains; i++) {
        int error = mgds_domain_take_error(world->domain[i], NULL);

        if (error && error != -EMSGSIZE)
            hand_fault("communicator %u owes the error %d", i, error);
    }
}

static void free_op(struct world_op *op)
{
    free(op->memory);
    mgds_layout_put(op->layout);
}

void world_close(struct world *world, void (*drain)(void), void (*stop)(void))
{
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        mgds_op_put(world->op[i].op);
    for (unsigned i = 0; i < world->domains; i++)
        drain_domain(world->domain[i], drain);
    drain();
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        check_freed(&world->op[i]);
    check_debts(world);
    if (mgds_stats_value(MGDS_STAT_envelopes_refused) != world->refused)
        hand_fault("an envelope was refused");
    for (unsigned i = 0; i < world->domains; i++) {
        mgds_domain_put(world->domain[i]);
        mgds_channels_put(world->channels[i]);
    }
    drain();
    stop();
    memset(loop_domain, 0, sizeof(loop_domain));
    mgds_domains_fini();
    for (unsigned i = 0; i < world->domains; i++)
        for (unsigned k = 0; k < STREAMS; k++)
            mgds_gstream_release(world->stream[i][k]);
    mgds_domains_gone();
    if (wire_held() != 0)
        hand_fault("the wire is held %d times", wire_held());
    witness_close();
    hand_gpu_close();
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        free_op(&world->op[i]);
}
