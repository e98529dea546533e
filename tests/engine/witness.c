/* The witness of witness.h. */
#include "tests/engine/witness.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/base/log.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/proto/place.h"
#include "tests/engine/hand_gpu.h"
#include "tests/unit/fake_wire.h"

unsigned witness_visits[2][WITNESS_PROTOCOLS][WITNESS_STATES];

/* Atomic. */
static int places_out, dones_out;
static unsigned places, dones;

static void add(int *count, int by)
{
    __atomic_fetch_add(count, by, __ATOMIC_RELAXED);
}

static void count(unsigned *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

static struct witness_rule rule;

/* Atomic, for programs that run by threads: what comes of two at once is for
 * nobody, then. */
static uint64_t trace;

static void follow(uint64_t what)
{
    uint64_t was = __atomic_load_n(&trace, __ATOMIC_RELAXED);

    __atomic_store_n(&trace, (was + what + 1) * UINT64_C(0x2545f4914f6cdd1d),
                     __ATOMIC_RELAXED);
}

uint64_t witness_trace(void)
{
    return __atomic_load_n(&trace, __ATOMIC_RELAXED);
}

void witness_open(const struct witness_rule *given)
{
    rule = *given;
    trace = 0;
    places_out = dones_out = 0;
}

void witness_close(void)
{
    if (places_out != 0)
        hand_fault("%d places in rings did not come back", places_out);
    if (dones_out < 0 || (dones_out > 0 && !rule.may_keep))
        hand_fault("%d done words did not come back", dones_out);
}

unsigned witness_places(void)
{
    return __atomic_load_n(&places, __ATOMIC_RELAXED);
}

unsigned witness_dones(void)
{
    return __atomic_load_n(&dones, __ATOMIC_RELAXED);
}

/* Steps. */

bool __real_mgds_op_step(struct mgds_op *op, enum mgds_op_event event);
bool __wrap_mgds_op_step(struct mgds_op *op, enum mgds_op_event event);

static unsigned protocol_of(const struct mgds_op *op)
{
    if (op->send)
        return op->send->protocol->id;
    return op->recv->message ? op->recv->message->protocol->id
                             : WITNESS_PROTOCOLS - 1;
}

bool __wrap_mgds_op_step(struct mgds_op *op, enum mgds_op_event event)
{
    bool stepped = __real_mgds_op_step(op, event);

    if (!stepped)
        hand_fault("event %d was refused of a %s of which %s", (int)event,
                   op->send ? "send" : "receive",
                   mgds_op_state_text(op->state));
    follow(op->call->name);
    follow(op->state);
    count(&witness_visits[op->send != NULL][protocol_of(op)][op->state]);
    return stepped;
}

/* Places. */

int __real_mgds_places_take(struct mgds_places *book, uint32_t units,
                            uint32_t *at, uint64_t *serial);
int __wrap_mgds_places_take(struct mgds_places *book, uint32_t units,
                            uint32_t *at, uint64_t *serial);
int __real_mgds_places_give(struct mgds_places *book, uint64_t serial);
int __wrap_mgds_places_give(struct mgds_places *book, uint64_t serial);

int __wrap_mgds_places_take(struct mgds_places *book, uint32_t units,
                            uint32_t *at, uint64_t *serial)
{
    int rc = __real_mgds_places_take(book, units, at, serial);

    if (rc == 0) {
        add(&places_out, 1);
        count(&places);
    }
    return rc;
}

int __wrap_mgds_places_give(struct mgds_places *book, uint64_t serial)
{
    int rc = __real_mgds_places_give(book, serial);

    /* nothing goes to who is lost any more */
    if (!wire_any_lost())
        hand_place_back(serial);
    if (rc == 0)
        add(&places_out, -1);
    else
        hand_fault("a place came back that was not out");
    return rc;
}

bool __real_mgds_channel_reserve(struct mgds_channel *channel,
                                 struct mgds_slot *slot, uint32_t *done);
bool __wrap_mgds_channel_reserve(struct mgds_channel *channel,
                                 struct mgds_slot *slot, uint32_t *done);
void __real_mgds_channel_give_done(struct mgds_channel *channel, uint32_t done);
void __wrap_mgds_channel_give_done(struct mgds_channel *channel, uint32_t done);

bool __wrap_mgds_channel_reserve(struct mgds_channel *channel,
                                 struct mgds_slot *slot, uint32_t *done)
{
    bool got = __real_mgds_channel_reserve(channel, slot, done);

    if (got) {
        add(&dones_out, 1);
        count(&dones);
    }
    return got;
}

void __wrap_mgds_channel_give_done(struct mgds_channel *channel, uint32_t done)
{
    __real_mgds_channel_give_done(channel, done);
    add(&dones_out, -1);
}

/* Posts. */

int __real_mgds_wire_post(struct mgds_wire_peer *peer,
                          const struct mgds_wire_message *message);
int __wrap_mgds_wire_post(struct mgds_wire_peer *peer,
                          const struct mgds_wire_message *message);

int __wrap_mgds_wire_post(struct mgds_wire_peer *peer,
                          const struct mgds_wire_message *message)
{
    follow(message->kind);
    follow(mgds_wire_peer_process(peer));
    return __real_mgds_wire_post(peer, message);
}

/* Lines. */

void __wrap_mgds_log_write(enum mgds_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void __wrap_mgds_log_write(enum mgds_log_level level, const char *fmt, ...)
{
    char text[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (level <= MGDS_LOG_WARN && !rule.may_warn)
        hand_fault("a line: %s", text);
}
