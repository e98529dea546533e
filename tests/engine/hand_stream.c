/* Streams of the GPU that is run by hand: what the engine puts on them; see
 * hand_gpu.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/mem/copyqueue.h"
#include "tests/engine/hand_state.h"

struct hand_queue hand_queues[HAND_QUEUES];
struct mgds_gstream *hand_streams[HAND_STREAMS];

struct hand_trouble hand_troubles;

static struct mgds_context contexts[HAND_GPUS];
static unsigned made;
static unsigned alone; /* atomic */

/* The first fault. */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static char fault[256];

void hand_fault(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    pthread_mutex_lock(&fault_lock);
    if (!fault[0])
        vsnprintf(fault, sizeof(fault), fmt, args);
    pthread_mutex_unlock(&fault_lock);
    va_end(args);
}

const char *hand_wrong(void)
{
    const char *wrong;

    pthread_mutex_lock(&fault_lock);
    wrong = fault[0] ? fault : NULL;
    pthread_mutex_unlock(&fault_lock);
    return wrong;
}

void hand_trouble(const struct hand_trouble *trouble)
{
    hand_troubles = *trouble;
}

void hand_gpu_open(void)
{
    fault[0] = '\0';
    made = 0;
    hand_troubles = (struct hand_trouble){.unreadable = false};
    hand_run_open();
    for (int i = 0; i < HAND_GPUS; i++)
        contexts[i] = (struct mgds_context){
            .id = (uint64_t)i + 1, .device = i, .refs = 1};
    for (int i = 0; i < HAND_QUEUES; i++) {
        hand_queues[i].head = hand_queues[i].tail = 0;
        pthread_mutex_init(&hand_queues[i].lock, NULL);
    }
    hand_memory_open();
    hand_forget_copies();
}

void hand_gpu_close(void)
{
    for (unsigned i = 0; i < HAND_QUEUES; i++) {
        if (hand_left(i) > 0)
            hand_fault("%u commands are left in queue %u", hand_left(i), i);
    }
    for (unsigned i = 0; i < made; i++)
        if (hand_streams[i])
            hand_fault("stream %u was not given back", i);
    hand_memory_close();
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        pthread_mutex_destroy(&hand_queues[i].lock);
}

void hand_memory(struct mgds_ptr *ptr, const void *addr, size_t bytes,
                 unsigned gpu)
{
    *ptr = (struct mgds_ptr){.kind = MGDS_PTR_DEVICE,
                             .device = (int)gpu,
                             .id = (uintptr_t)addr,
                             .base = (uintptr_t)addr,
                             .size = bytes,
                             .ctx_id = contexts[gpu].id};
}

struct mgds_gstream *hand_stream(unsigned gpu)
{
    struct mgds_gstream *stream =
        (struct mgds_gstream *)calloc(1, sizeof(*stream));
    uint64_t *desk;

    if (!stream)
        abort();
    mgds_syncwords_take(&desk, NULL);
    stream->desk = (struct mgds_desk *)(void *)desk;
    mgds_quits_init(&stream->quits, desk);
    mgds_orders_init(&stream->orders, NULL, desk);
    mgds_orders_cell(&stream->orders, &stream->cell);
    pthread_mutex_init(&stream->launch, NULL);
    pthread_cond_init(&stream->turned, NULL);
    stream->number = made;
    stream->refs = 1;
    stream->context = &contexts[gpu];
    stream->queue = &hand_queues[made];
    stream->ours = &hand_queues[HAND_STREAMS + gpu];
    hand_streams[made++] = stream;
    return stream;
}

static void destroy(struct mgds_gstream *stream)
{
    if (hand_left(stream->number) > 0)
        hand_fault("stream %u went with commands on it", stream->number);
    if (stream->waits != 0)
        hand_fault("%d more waits of stream %u were put than told to be over",
                   stream->waits, stream->number);
    if (mgds_claims_any(&stream->claims))
        hand_fault("a claim of stream %u was not given back", stream->number);
    if (stream->ticket != stream->turn)
        hand_fault("a ticket of stream %u was not used", stream->number);
    mgds_quits_fini(&stream->quits, NULL);
    mgds_orders_fini(&stream->orders, NULL);
    hand_streams[stream->number] = NULL;
    mgds_syncwords_give(NULL, (uint64_t *)(void *)stream->desk);
    pthread_mutex_destroy(&stream->launch);
    pthread_cond_destroy(&stream->turned);
    free(stream);
}

struct mgds_gstream *mgds_gstream_get(struct mgds_gstream *stream)
{
    __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
    return stream;
}

void mgds_gstream_release(struct mgds_gstream *stream)
{
    unsigned left = __atomic_sub_fetch(&stream->refs, 1, __ATOMIC_ACQ_REL);

    if (left == 1)
        __atomic_fetch_add(&alone, 1, __ATOMIC_RELEASE);
    if (left == 0)
        destroy(stream);
}

void mgds_gstream_set_timeline(struct mgds_gstream *stream,
                               struct mgds_timeline *timeline)
{
    __atomic_store_n(&stream->timeline, timeline, __ATOMIC_RELEASE);
}

struct mgds_timeline *mgds_gstream_timeline(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->timeline, __ATOMIC_ACQUIRE);
}

bool mgds_gstream_is_alone(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->refs, __ATOMIC_ACQUIRE) == 1;
}

unsigned mgds_gstreams_alone(void)
{
    return __atomic_load_n(&alone, __ATOMIC_ACQUIRE);
}

uint64_t mgds_gstream_name(const struct mgds_gstream *stream)
{
    return stream->number + 1;
}

struct mgds_context *mgds_gstream_context(const struct mgds_gstream *stream)
{
    return stream->context;
}

struct mgds_syncwords *mgds_gstream_words(struct mgds_gstream *stream)
{
    return stream->words;
}

int mgds_gstream_capturing(struct mgds_gstream *stream)
{
    (void)stream;
    return 0;
}

bool mgds_gstream_takes(const struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer)
{
    return mgds_layout_is_dense(buffer->layout) &&
           buffer->ptr.ctx_id == stream->context->id;
}

bool mgds_gstream_has_kernels(const struct mgds_gstream *stream)
{
    (void)stream;
    return true;
}

bool mgds_gstream_is_narrow(const struct mgds_gstream *stream)
{
    (void)stream;
    return false;
}

bool mgds_gstream_can_be_quiet(const struct mgds_gstream *stream)
{
    (void)stream;
    return true;
}

int mgds_gstream_check(const struct mgds_gstream *stream)
{
    (void)stream;
    return 0;
}

static unsigned ruined; /* atomic */

unsigned hand_ruined(void)
{
    return __atomic_load_n(&ruined, __ATOMIC_RELAXED);
}

void mgds_gstream_fail(struct mgds_gstream *stream, int error)
{
    int none = 0;

    __atomic_fetch_add(&ruined, 1, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&stream->error, &none, error, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

struct mgds_quits *mgds_gstream_quits(struct mgds_gstream *stream)
{
    return &stream->quits;
}

void mgds_gstream_abort(struct mgds_gstream *stream)
{
    mgds_quits_all(&stream->quits);
}

/* Nobody waits for a claim: no time passes in these programs. */
bool mgds_gstream_may_claim(const struct mgds_gstream *stream)
{
    (void)stream;
    return false;
}

void mgds_gstream_despair(struct mgds_gstream *stream)
{
    (void)stream;
}

bool mgds_gstream_is_stalled(const struct mgds_gstream *stream)
{
    return __atomic_load_n(&stream->stalled, __ATOMIC_RELAXED);
}

void mgds_gstream_note_stalled(struct mgds_gstream *stream, bool stalled)
{
    __atomic_store_n(&stream->stalled, stalled, __ATOMIC_RELAXED);
}

static struct mgds_claim *take_claim(struct mgds_gstream *stream, unsigned most)
{
    int number = mgds_claims_take(&stream->claims, most);

    return number < 0 ? NULL : &stream->claim[number];
}

struct mgds_claim *mgds_gstream_claim(struct mgds_gstream *stream)
{
    return take_claim(stream, MGDS_GSTREAM_CLAIMS);
}

struct mgds_claim *mgds_gstream_claim_long(struct mgds_gstream *stream)
{
    return take_claim(stream, MGDS_GSTREAM_LONG_CLAIMS);
}

void mgds_gstream_serve(struct mgds_gstream *stream, int change)
{
    mgds_claims_serve(&stream->claims, change);
}

void mgds_gstream_unclaim(struct mgds_gstream *stream, struct mgds_claim *claim)
{
    if (hand_names(claim, sizeof(*claim)))
        hand_fault("a claim was given back ahead of a launch that names it");
    mgds_claims_give(&stream->claims, (unsigned)(claim - stream->claim));
}

struct mgds_stands mgds_gstream_stands(const struct mgds_gstream *stream)
{
    struct mgds_stands stands;

    stands.beat = __atomic_load_n(&stream->desk->beat, __ATOMIC_ACQUIRE);
    stands.stand = __atomic_load_n(&stream->desk->stands, __ATOMIC_RELAXED);
    return stands;
}

/* Queues. */

void hand_put(struct hand_queue *queue, const struct hand_command *command)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->tail - queue->head == HAND_DEEP)
        abort();
    queue->command[queue->tail % HAND_DEEP] = *command;
    queue->command[queue->tail % HAND_DEEP].serial = queue->tail;
    queue->tail++;
    pthread_mutex_unlock(&queue->lock);
}

unsigned hand_left(unsigned queue)
{
    unsigned left;

    pthread_mutex_lock(&hand_queues[queue].lock);
    left = hand_queues[queue].tail - hand_queues[queue].head;
    pthread_mutex_unlock(&hand_queues[queue].lock);
    return left;
}

static bool is_in(const void *at, const void *from, size_t bytes)
{
    return (uintptr_t)at - (uintptr_t)from < bytes;
}

/* Somebody else has copied its message: it will not look at it. */
static bool is_over(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;

    return step->claim &&
           __atomic_load_n(&step->claim->over, __ATOMIC_ACQUIRE) >= step->gen;
}

static uint64_t record_of(const struct hand_command *command, unsigned word)
{
    const uint64_t *record = command->step.record;

    return record ? __atomic_load_n(&record[word], __ATOMIC_RELAXED) : 0;
}

static bool names(const struct hand_command *command, const void *from,
                  size_t bytes)
{
    const struct mgds_command *step = &command->step;
    bool over = is_over(command);
    const void *const at[] = {
        step->word,
        step->record,
        step->claim,
        command->came,
        command->to,
        command->done,
        command->kind == HAND_UP ? NULL : step->bounce,
        command->kind != HAND_UP && step->bounce && !step->record && !over
            ? mgds_bounce_base(step->bounce)
            : NULL,
        (const void *)(uintptr_t)record_of(command, MGDS_RECORD_ADDRESS),
        over ? NULL : step->user,
        over ? NULL : (const void *)(uintptr_t)step->source,
        over ? NULL : (const void *)(uintptr_t)step->done};

    for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        if (at[i] && is_in(at[i], from, bytes))
            return true;
    return false;
}

static bool queue_names(struct hand_queue *queue, const void *from,
                        size_t bytes)
{
    bool any = false;

    pthread_mutex_lock(&queue->lock);
    for (unsigned i = queue->head; i != queue->tail && !any; i++)
        any = names(&queue->command[i % HAND_DEEP], from, bytes);
    pthread_mutex_unlock(&queue->lock);
    return any;
}

bool hand_names(const void *from, size_t bytes)
{
    bool any = false;

    for (int i = 0; i < HAND_QUEUES && !any; i++)
        any = queue_names(&hand_queues[i], from, bytes);
    return any;
}

/* A TAKE that knows it, or a PUSH or POST that is to come. */
static bool is_placed(const struct hand_command *command, uint64_t serial)
{
    return command->kind == HAND_STEP && !is_over(command) &&
           (command->step.serial == serial ||
            record_of(command, MGDS_RECORD_SERIAL) == serial);
}

void hand_place_back(uint64_t serial)
{
    bool any = false;

    for (unsigned i = 0; i < HAND_STREAMS; i++) {
        struct hand_queue *queue = &hand_queues[i];

        pthread_mutex_lock(&queue->lock);
        for (unsigned k = queue->head; k != queue->tail; k++)
            any |= is_placed(&queue->command[k % HAND_DEEP], serial);
        pthread_mutex_unlock(&queue->lock);
    }
    if (any)
        hand_fault("a place in a ring came back ahead of a command that names "
                   "it");
}

void hand_call(struct mgds_gstream *stream, void (*run)(void *arg), void *arg)
{
    const struct hand_command command = {
        .kind = HAND_CALL, .stream = stream, .run = run, .arg = arg};

    hand_put(stream->queue, &command);
}

/* Nothing of the driver is put off. */

void mgds_copyqueues_trim(void)
{
}

bool mgds_defer_pending(void)
{
    return false;
}

unsigned mgds_defer_drain(void)
{
    return 0;
}

/* Puts. */

uint64_t mgds_gstream_ticket(struct mgds_gstream *stream)
{
    return __atomic_fetch_add(&stream->ticket, 1, __ATOMIC_RELAXED);
}

static bool waits(const struct mgds_command *step)
{
    return step->kind == MGDS_COMMAND_WAIT || step->kind == MGDS_COMMAND_TAKE ||
           step->kind == MGDS_COMMAND_AWAIT;
}

static bool is_take(const struct mgds_command *steps, unsigned i,
                    unsigned count)
{
    return i < count && steps[i].kind == MGDS_COMMAND_TAKE;
}

/* A quiet FLAG ahead of a TAKE is the TAKE's; one behind a TAKE is of its
 * launch. */
static void put_steps(struct mgds_gstream *stream, struct mgds_command *steps,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct hand_command command = {.stream = stream};

        steps[i].put = true;
        if (steps[i].kind == MGDS_COMMAND_FLAG && steps[i].quiet &&
            is_take(steps, i + 1, count)) {
            command.came = steps[i].word;
            command.came_value = steps[i].value;
            steps[++i].put = true;
        }
        if (waits(&steps[i]))
            __atomic_fetch_add(&stream->waits, 1, __ATOMIC_RELAXED);
        command.step = steps[i];
        command.after_take = steps[i].kind == MGDS_COMMAND_FLAG && i > 0 &&
                             steps[i - 1].kind == MGDS_COMMAND_TAKE;
        if (steps[i].quiet && !command.after_take)
            hand_fault("a FLAG is quiet, but with no TAKE");
        hand_put(stream->queue, &command);
    }
}

void (*hand_on_put)(struct mgds_gstream *stream);

int mgds_gstream_put(struct mgds_gstream *stream, uint64_t ticket,
                     struct mgds_command *steps, unsigned count)
{
    if (hand_on_put)
        hand_on_put(stream);
    pthread_mutex_lock(&stream->launch);
    while (stream->turn != ticket)
        pthread_cond_wait(&stream->turned, &stream->launch);
    put_steps(stream, steps, count);
    stream->turn++;
    pthread_cond_broadcast(&stream->turned);
    pthread_mutex_unlock(&stream->launch);
    return 0;
}

/* Ahead of their put, too. */
void mgds_gstream_passed(struct mgds_gstream *stream, unsigned count)
{
    __atomic_fetch_sub(&stream->waits, (int)count, __ATOMIC_RELAXED);
}

uint64_t mgds_gstream_come(struct mgds_gstream *stream, uint64_t from)
{
    uint64_t came = hand_acquire(&stream->came);

    return came >= from ? came : 0;
}

int mgds_gstream_tell(struct mgds_gstream *stream, uint64_t *to, uint64_t *done,
                      uint64_t number)
{
    const struct hand_command tell = {.kind = HAND_TELL,
                                      .stream = stream,
                                      .to = to,
                                      .done = done,
                                      .number = number};

    hand_put(stream->ours, &tell);
    return 0;
}

int mgds_gstream_fetch(struct mgds_gstream *stream,
                       const struct mgds_command *take, uint64_t *flag,
                       uint64_t value)
{
    struct hand_command command = {.stream = stream, .step = *take};
    const struct hand_command told = {
        .stream = stream,
        .step = {.kind = MGDS_COMMAND_FLAG, .word = flag, .value = value}};

    if (!take->serial || take->record)
        return -EINVAL;
    command.step.stand = 0;
    hand_put(stream->ours, &command);
    hand_put(stream->ours, &told);
    return 0;
}

uint64_t mgds_gstream_order(struct mgds_gstream *stream,
                            const struct mgds_command *take)
{
    if (!take->claim || !take->serial || take->record ||
        __atomic_load_n(&stream->waits, __ATOMIC_RELAXED) <= 0)
        return 0;
    return mgds_orders_give(&stream->orders, take);
}

void mgds_gstream_order_back(struct mgds_gstream *stream)
{
    mgds_orders_take_back(&stream->orders);
}

bool mgds_gstream_served(const struct mgds_gstream *stream, uint64_t order)
{
    return mgds_orders_served(&stream->orders, order);
}
