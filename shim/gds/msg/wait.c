/* Waits in streams as records, and what they tell the stream when it may pass;
 * see wait.h and timeline.h. */
#include "shim/gds/msg/wait.h"

#include <errno.h>
#include <stdlib.h>

#include "device/abi.h"
#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/stats.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/put.h"

struct mgds_spares mgds_wait_spares = MGDS_SPARES_INIT(
    sizeof(struct mgds_wait) + MGDS_PUT_FEW * sizeof(struct mgds_op *));

/* One has no room for more than it was made for. */
static struct mgds_wait *take_record(unsigned room)
{
    if (room <= MGDS_PUT_FEW)
        return (struct mgds_wait *)mgds_spares_take(&mgds_wait_spares);
    return (struct mgds_wait *)mgds_calloc(
        1, sizeof(struct mgds_wait) + room * sizeof(struct mgds_op *));
}

struct mgds_wait *mgds_wait_create(unsigned room)
{
    struct mgds_wait *wait = take_record(room);

    if (!wait)
        return NULL;
    wait->refs = 1;
    wait->room = room > MGDS_PUT_FEW ? room : MGDS_PUT_FEW;
    return wait;
}

void mgds_wait_free(struct mgds_wait *wait)
{
    if (!wait || wait->room > MGDS_PUT_FEW)
        free(wait);
    else
        mgds_spares_give(&mgds_wait_spares, wait);
}

int mgds_wait_widen(struct mgds_wait **wait, unsigned more)
{
    unsigned count = *wait ? (*wait)->count : 0;
    struct mgds_wait *wider;

    if (*wait && (*wait)->room - count >= more)
        return 0;
    wider = mgds_wait_create(count ? 2 * (count + more) : more);
    if (!wider)
        return -ENOMEM;
    wider->count = count;
    for (unsigned i = 0; i < count; i++)
        wider->op[i] = (*wait)->op[i];
    mgds_wait_free(*wait);
    *wait = wider;
    return 0;
}

void mgds_wait_hold(struct mgds_wait *wait, unsigned count,
                    struct mgds_op *const ops[],
                    const struct mgds_op_sink sinks[])
{
    for (unsigned i = 0; i < count; i++) {
        ops[i]->waited->sink = sinks[i];
        wait->op[wait->count++] = ops[i];
    }
}

static void end_wait(struct mgds_ending *ending)
{
    mgds_wait_free(MGDS_CONTAINER_OF(ending, struct mgds_wait, ending));
}

/* The last one puts the operations, too. */
void mgds_wait_put(struct mgds_wait *wait)
{
    if (--wait->refs > 0)
        return;
    for (unsigned i = 0; i < wait->count; i++)
        mgds_op_put_later(wait->op[i]);
    wait->ending.end = end_wait;
    mgds_engine_end_later(&wait->ending);
}

/* Each word comes after statuses, and bytes in the bounce: whichever the stream
 * acquires. */
static void store_word(uint64_t *record, unsigned word, uint64_t value)
{
    __atomic_store_n(&record[word], value, __ATOMIC_RELEASE);
}

/* The fence of a wait for several is behind the last of them. */
static uint64_t pull_form(const struct mgds_wait *wait,
                          const struct mgds_op *op)
{
    if (wait->count > 1 || !op->recv->message->stands ||
        !mgds_signals_defer_late(&wait->timeline->signals,
                                 wait->timeline->stream, &wait->fence,
                                 wait->timeline->fences))
        return MGDS_TAKE_PULL;
    mgds_count(pull_quiet);
    return MGDS_TAKE_QUIET;
}

/* In the bounce, or nowhere: nothing came, or it is where it belongs already.
 */
static struct mgds_take_record bounce_record(const struct mgds_op *op)
{
    if (op->recv->got == 0 || op->recv->direct)
        return (struct mgds_take_record){
            .serial = MGDS_TAKE_NONE, .address = 1, .form = MGDS_TAKE_BYTES};
    return (struct mgds_take_record){
        .serial = 1,
        .address = (uintptr_t)mgds_bounce_base(op->bounce),
        .length = op->recv->got,
        .form = MGDS_TAKE_BYTES};
}

/* What a TAKE that stands gets: where the message is, as its protocol says, or
 * in the bounce. */
static void tell_take(const struct mgds_wait *wait, const struct mgds_op *op)
{
    struct mgds_take_record record;

    if (mgds_op_is_taken(op))
        op->recv->message->protocol->record(op, &record);
    else
        record = bounce_record(op);
    if (record.form == MGDS_TAKE_PULL) {
        record.form = pull_form(wait, op);
        store_word(op->recv->words, MGDS_RECORD_SOURCE, record.source);
        store_word(op->recv->words, MGDS_RECORD_DONE, record.done);
    }
    store_word(op->recv->words, MGDS_RECORD_SERIAL, record.serial);
    store_word(op->recv->words, MGDS_RECORD_ADDRESS, record.address);
    store_word(op->recv->words, MGDS_RECORD_LENGTH, record.length + 1);
    store_word(op->recv->words, MGDS_RECORD_FORM, record.form + 1);
}

void mgds_wait_store(const struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (op->waited->sink.store)
            op->waited->sink.store(op->waited->sink.arg, &op->status);
    }
}

void mgds_wait_publish(const struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++)
        if (wait->op[i]->waiting == MGDS_OP_TAKING)
            tell_take(wait, wait->op[i]);
}

void mgds_wait_leave(struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        wait->op[i]->waited->wait = NULL;
        wait->op[i]->waited->sink.store = NULL;
    }
    mgds_wait_put(wait);
}
