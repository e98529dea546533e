/* Programs in an engine; see world.h. */
#include "tests/engine/world.h"

#include <stdlib.h>
#include <string.h>

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/transport/channel.h"
#include "tests/engine/buffers.h"
#include "tests/engine/loop_wire.h"
#include "tests/engine/witness.h"

enum { STREAMS = WORLD_STREAMS };

static uint64_t ids; /* of communicators, ever */

unsigned world_number(const struct world_op *op)
{
    return (unsigned)(op - op->world->op);
}

unsigned world_sender(const struct world_op *op)
{
    return op->spec->any ? (unsigned)(op->status.tag - PROGRAM_TAG)
                         : op->spec->of;
}

static bool is_used(const struct program_op *spec)
{
    return spec->send || spec->bytes > 0 || spec->caller > 0;
}

/* Calls. */

static struct mgds_xfer xfer_of(const struct world_op *op)
{
    const struct program_op *spec = op->spec;
    const struct world *world = op->world;
    unsigned comm = world->comms > 1 ? spec->caller : 0;
    struct mgds_xfer xfer = {
        .buffer = {.addr = op->memory,
                   .count = spec->vector ? 1 : spec->bytes,
                   .layout = op->layout},
        .gpu = !spec->host,
        .peer = spec->any          ? MGDS_ANY_SOURCE
                : world->comms > 1 ? !comm
                                   : 0,
        .tag = spec->any ? MGDS_ANY_TAG
                         : PROGRAM_TAG +
                               (int)(spec->send ? world_number(op) : spec->of),
        .from_index = spec->send ? spec->stream : spec->other,
        .to_index = spec->send ? spec->other : spec->stream,
        .sync = spec->sync,
        .enqueued = !spec->plain,
        .name = world_number(op) + 1};

    if (!spec->host)
        hand_memory(&xfer.buffer.ptr, op->memory, BUFFER_BYTES,
                    world->comms > 1 ? spec->caller : 0);
    return xfer;
}

static struct mgds_comm *comm_of(const struct world_op *op)
{
    const struct world *world = op->world;

    return world->comm[world->comms > 1 ? op->spec->caller : 0];
}

static struct mgds_gstream *stream_of(const struct world *world,
                                      unsigned caller, unsigned index)
{
    return world->stream[world->comms > 1 ? caller : 0][index];
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

/* A call of the operation fails as its program's trouble lets it: its caller
 * does without the operation from then on. False: so it is. */
static bool succeeds(struct world_op *op, int rc, const char *what)
{
    if (rc == 0)
        return true;
    if (!program_allows(op->world->program, rc))
        expect(rc, what);
    op->failed = true;
    return false;
}

static void start(struct world_op *op)
{
    const struct mgds_xfer xfer = xfer_of(op);
    int rc = (op->spec->send ? mgds_op_send : mgds_op_recv)(&op->op,
                                                            comm_of(op), &xfer);

    op->started = true;
    succeeds(op, rc, "a call that starts an operation");
}

/* The program's own work behind the wait, or behind the group's end. */
static void put_use(struct world_op *op, struct mgds_gstream *stream)
{
    if (mgds_group_is_open(stream))
        __atomic_store_n(&op->used_on, stream, __ATOMIC_RELAXED);
    else
        hand_call(stream, buffer_use, op);
}

static void end_group(struct world *world, struct mgds_gstream *stream)
{
    int rc = mgds_group_end(stream, true);

    if (rc != 0 && !program_allows(world->program, rc))
        expect(rc, "the end of a group");
    for (unsigned i = 0; i < PROGRAM_OPS; i++) {
        struct world_op *op = &world->op[i];

        /* other callers write those of their streams meanwhile */
        if (__atomic_load_n(&op->used_on, __ATOMIC_RELAXED) != stream)
            continue;
        __atomic_store_n(&op->used_on, NULL, __ATOMIC_RELAXED);
        put_use(op, stream);
    }
}

static void run(struct world_op *op, struct mgds_gstream *stream)
{
    const struct mgds_xfer xfer = xfer_of(op);
    const struct mgds_op_sink sink = {.store = store_status, .arg = op};

    op->started = true;
    if (succeeds(op, mgds_op_run(comm_of(op), &xfer, op->spec->send, &sink),
                 "a call that runs an operation"))
        put_use(op, stream);
}

/* Of those that were started. */
static void wait(struct world_op *op, unsigned count,
                 struct mgds_gstream *stream)
{
    struct mgds_op *ops[2];
    struct mgds_op_sink sinks[2];
    unsigned n = 0;
    int rc;

    for (unsigned i = 0; i < count; i++) {
        if (op[i].failed)
            continue;
        ops[n] = op[i].op;
        sinks[n++] =
            (struct mgds_op_sink){.store = store_status, .arg = &op[i]};
    }
    rc = n > 0 ? mgds_op_wait_enqueue(stream, n, ops, sinks) : 0;
    for (unsigned i = 0; i < count; i++) {
        if (op[i].failed || !succeeds(&op[i], rc, "a wait"))
            continue;
        op[i].op = NULL;
        put_use(&op[i], stream);
    }
}

static bool test(struct world_op *op)
{
    if (op->failed)
        return true;
    if (mgds_op_test(op->op) != 1)
        return false;
    mgds_op_status(op->op, &op->status);
    __atomic_fetch_add(&op->told, 1, __ATOMIC_RELEASE);
    mgds_op_put(op->op);
    op->op = NULL;
    buffer_use(op);
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

    return mgds_comm_probe(comm_of(op), &what, &status) == 1;
}

static bool receive_probed(struct world_op *op)
{
    const struct mgds_probe what = probe_of(op);
    const struct mgds_xfer xfer = xfer_of(op);
    struct mgds_message *message;
    struct mgds_op_status status;

    if (mgds_comm_mprobe(&message, comm_of(op), &what, &status) != 1)
        return false;
    op->started = true;
    succeeds(op, mgds_op_mrecv(&op->op, message, &xfer), "Mrecv");
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
    return (int)((world->comms > 1 ? STREAMS * caller : 0) + index);
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
        op->cancelled = !op->failed && mgds_op_cancel(op->op);
        return true;
    case PROGRAM_PROBE:
        return probe(op);
    case PROGRAM_MRECV:
        return receive_probed(op);
    case PROGRAM_GROUP:
        expect(mgds_group_start(stream_of(world, caller, call->stream), true),
               "the start of a group");
        return true;
    case PROGRAM_GROUP_END:
        end_group(world, stream_of(world, caller, call->stream));
        return true;
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

static struct mgds_comm_spec spec_of(struct world *world, unsigned rank)
{
    return (struct mgds_comm_spec){.id = ids + rank,
                                   .rank = rank,
                                   .size = world->comms,
                                   .members = world->member,
                                   .streams = world->stream[rank],
                                   .stream_count = STREAMS,
                                   .channels = world->channels[rank]};
}

static void make_channels(struct world *world, unsigned rank)
{
    const struct mgds_comm_spec spec = spec_of(world, rank);

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

static void make_comm(struct world *world, unsigned rank)
{
    const struct mgds_comm_spec spec = spec_of(world, rank);

    for (unsigned i = 0; i < world->comms; i++)
        hear(world, rank, i);
    expect(mgds_comm_create(&world->comm[rank], &spec), "mgds_domain_create");
    loop_comm[rank] = spec.id;
}

/* From a stream of the rank to all streams of the other. */
static void open_channels(struct world *world, unsigned rank, unsigned index,
                          unsigned other)
{
    mgds_engine_enter();
    for (unsigned k = 0; k < STREAMS; k++) {
        struct mgds_channel *channel =
            mgds_comm_channel(world->comm[rank], index, other, k);

        if (channel)
            mgds_channel_open(channel, 0);
    }
    mgds_engine_leave();
}

/* Asks for what all channels need, or takes what has come. */
static void open_all(struct world *world)
{
    for (unsigned i = 0; i < world->comms * STREAMS; i++)
        for (unsigned other = 0; other < world->comms; other++)
            open_channels(world, i / STREAMS, i % STREAMS, other);
}

/* A program's first messages would wait for rings: that they come is no event
 * of the search. */
static void connect_all(struct world *world)
{
    enum { ROUNDS = 4 }; /* asked, made and told, mapped, taken */

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct wire_post *post;

        open_all(world);
        while ((post = wire_first()) != NULL)
            loop_do(post, LOOP_HEAD);
        mgds_works_run_kind(MGDS_WORK_MAKE_RING, MGDS_WORK_BY_HOST);
        mgds_works_run_kind(MGDS_WORK_MAP_RING, MGDS_WORK_BY_HOST);
    }
}

static void make_trouble(const struct program *program)
{
    const enum program_trouble kind = program->trouble;
    const struct hand_trouble trouble = {
        .unreadable = kind == PROGRAM_UNREADABLE || kind == PROGRAM_FORBIDDEN,
        .wordless = kind == PROGRAM_WORDLESS,
        .deaf = kind == PROGRAM_DEAF,
        .stalled = kind == PROGRAM_STALLED};

    if (program->refuses)
        hand_import_fails(-(int)program->refuses);
    if (program->scarce)
        hand_pinned_is_short(program->scarce);
    hand_trouble(&trouble);
}

void world_open(struct world *world, const struct program *program)
{
    const struct witness_rule rule = {.may_warn =
                                          program->trouble != PROGRAM_WELL,
                                      .may_keep = program_may_lose(program)};
    const void *address;
    size_t bytes;

    *world = (struct world){.program = program, .comms = program->pair ? 2 : 1};
    buffers_open();
    hand_gpu_open();
    witness_open(&rule);
    make_trouble(program);
    for (unsigned i = 0; i < WORLD_COUNTS; i++)
        world->counted[i] = world_count(world, i);
    ids += 2;
    expect(mgds_comms_open(false, &address, &bytes), "mgds_domains_open");
    if (wire_first())
        hand_fault("a message of the program before is on the wire");
    for (unsigned i = 0; i < world->comms; i++)
        for (unsigned k = 0; k < STREAMS; k++)
            world->stream[i][k] = hand_stream(i);
    for (unsigned i = 0; i < world->comms; i++)
        world->member[i] = (struct mgds_member){.address = &wire_address[i],
                                                .address_bytes = 1,
                                                .process = i + 1,
                                                .streams = STREAMS,
                                                .host = 1};
    for (unsigned i = 0; i < world->comms; i++)
        make_channels(world, i);
    for (unsigned i = 0; i < world->comms; i++)
        make_comm(world, i);
    connect_all(world);
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        if (is_used(&program->op[i]))
            buffer_make(world, i);
}

/* Of one communicator, as MPI_Comm_disconnect, or of all streams (NULL), as
 * MPI_Finalize. Nothing takes so long, whatever else the machine does. */
static void await_over(struct mgds_comm *comm, void (*drain)(void))
{
    const struct mgds_drain_rule rule = {
        .call = "the end of a test", .timeout = 30, .idle = drain};
    unsigned left = 0;
    int rc = comm ? mgds_comm_drain(comm, &rule, &left)
                  : mgds_op_drain(NULL, &rule, &left);

    if (rc < 0)
        hand_fault("%u operations are not over at the end: %d", left, rc);
}

void world_close(struct world *world, void (*drain)(void), void (*stop)(void))
{
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        mgds_op_put(world->op[i].op);
    for (unsigned i = 0; i < world->comms; i++)
        await_over(world->comm[i], drain);
    /* a send whose request was freed may be read before its stream is known to
     * have come to it: its fence, which holds it, is of no communicator */
    await_over(NULL, drain);
    drain();
    world_check_end(world);
    for (unsigned i = 0; i < world->comms; i++) {
        mgds_comm_put(world->comm[i]);
        mgds_channels_put(world->channels[i]);
    }
    drain();
    stop();
    memset(loop_comm, 0, sizeof(loop_comm));
    mgds_comms_fini();
    for (unsigned i = 0; i < world->comms; i++)
        for (unsigned k = 0; k < STREAMS; k++)
            mgds_gstream_release(world->stream[i][k]);
    mgds_comms_gone();
    if (wire_held() != 0)
        hand_fault("the wire is held %d times", wire_held());
    witness_close();
    hand_gpu_close();
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        buffer_free(&world->op[i]);
}
