/* Buffers of operations, as buffers.h says. */
#include "tests/engine/buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fake_wire.h"

enum { EMPTY = 0xee, OVER = 0x55 };

/* What each operation sends, and memory that nobody has written to. */
static unsigned char sent[PROGRAM_OPS][BUFFER_BYTES], empty[BUFFER_BYTES];

void buffers_open(void)
{
    if (empty[0] == EMPTY)
        return;
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        for (unsigned at = 0; at < BUFFER_BYTES; at++)
            sent[i][at] = (unsigned char)(37 * i + 7 * at + at / 251 + 1);
    memset(empty, EMPTY, sizeof(empty));
}

/* Where the packed byte is. */
static size_t place_of(const struct program_op *spec, size_t at)
{
    return spec->vector ? at / 2 * 4 + at % 2 : at;
}

static void fill(const struct world_op *op)
{
    const unsigned char *from = sent[world_number(op)];

    memcpy(op->memory, empty, BUFFER_BYTES);
    if (op->spec->send && !op->spec->vector)
        memcpy(op->memory, from, op->spec->bytes);
    for (size_t i = 0; op->spec->vector && i < op->spec->bytes; i++)
        if (op->spec->send)
            op->memory[place_of(op->spec, i)] = from[i];
}

void buffer_make(struct world *world, unsigned number)
{
    struct world_op *op = &world->op[number];
    struct mgds_layout *byte;

    op->spec = &world->program->op[number];
    op->world = world;
    op->memory = (unsigned char *)aligned_alloc(64, BUFFER_BYTES);
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

void buffer_free(struct world_op *op)
{
    free(op->memory);
    mgds_layout_put(op->layout);
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

/* Of a message in parts some may have come. */
static bool may_be(const struct world_op *op, size_t at)
{
    return op->memory[at] == empty[at] ||
           (op->world->program->scarce && at < op->spec->bytes &&
            op->memory[at] == sent[op->spec->of][at]);
}

static bool is_untouched(const struct world_op *op)
{
    size_t at = 0;

    while (at < BUFFER_BYTES && may_be(op, at))
        at++;
    return at == BUFFER_BYTES;
}

/* Nothing was written there, where that is promised: not of a message whose
 * sender may be somewhere else since it has taken this rank for dead. */
static void look_at_failed(const struct world_op *op)
{
    if (op->world->program->trouble == PROGRAM_TIMED && !wire_any_lost() &&
        !is_untouched(op))
        hand_fault("receive %u was written, and did not come in time",
                   world_number(op));
}

/* What failed may have anything in it; so may what was to fail when its stream
 * was told already that it may pass: then its communicator says so later. */
static void look_at(struct world_op *op)
{
    unsigned from = world_sender(op);
    size_t due, wrong;

    if (op->status.cancelled)
        return;
    if (op->status.error && op->status.error != -EMSGSIZE) {
        look_at_failed(op);
        return;
    }
    if (from >= PROGRAM_OPS) {
        hand_fault("receive %u has tag %d", world_number(op), op->status.tag);
        return;
    }
    due = op->world->op[from].spec->bytes;
    if (due > op->spec->bytes)
        due = op->spec->bytes;
    wrong = first_wrong(op, from, due);
    op->wrong = wrong < due;
    if (op->wrong && !program_may_lose(op->world->program))
        hand_fault("byte %zu of receive %u is 0x%02x", wrong, world_number(op),
                   op->memory[place_of(op->spec, wrong)]);
    else if (op->wrong)
        look_at_failed(op);
}

static size_t used(const struct world_op *op)
{
    return place_of(op->spec, op->spec->bytes);
}

void buffer_use(void *arg)
{
    struct world_op *op = (struct world_op *)arg;

    if (!op->spec->send)
        look_at(op);
    memset(op->memory, OVER, used(op));
    /* what it has read: the memory may go */
    __atomic_fetch_add(&op->checked, 1, __ATOMIC_RELEASE);
}

void buffer_check(const struct world_op *op)
{
    unsigned copies = hand_copies_to(op->memory);
    size_t end = used(op), i = 0;

    if (memcmp(op->memory + end, empty, BUFFER_BYTES - end) != 0)
        hand_fault("memory behind receive %u was written", world_number(op));
    if (copies > 1)
        hand_fault("receive %u was copied %u times", world_number(op), copies);
    if (!__atomic_load_n(&op->checked, __ATOMIC_ACQUIRE))
        return;
    while (i < end && op->memory[i] == OVER)
        i++;
    if (i < end)
        hand_fault("byte %zu of receive %u was written after its end", i,
                   world_number(op));
}
