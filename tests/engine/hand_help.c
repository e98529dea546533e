/* What kernels that stand do beside waiting: messages that were ordered of
 * them, and that they say that they stand; see hand_gpu.h. */
#include "tests/engine/hand_state.h"

/* Of help for an order: it was looked at, it is this kernel's. */
enum { HELP_NONE, HELP_CLAIMS, HELP_COPIES };
enum { HELPS = 100 }; /* in traces: from there on */

struct hand_next hand_help(unsigned queue)
{
    static const char *const names[] = {"help looks", "help claims",
                                        "help copies"};
    const struct mgds_gstream *stream =
        queue < HAND_STREAMS ? hand_streams[queue] : NULL;
    struct hand_next next = {.touch = HAND_NONE};
    const struct hand_command *command = stream ? hand_first(queue) : NULL;
    uint64_t order;

    if (!command || !hand_stands(command) || hand_troubles.deaf ||
        hand_is_kept(queue))
        return next;
    order = hand_acquire(&stream->desk->order);
    next.phase = stream->helper.phase;
    next.serial = (unsigned)(order + stream->helper.number);
    next.name = names[next.phase];
    if (next.phase == HELP_NONE)
        next.touch =
            order && order != stream->helper.last ? HAND_LOOKS : HAND_NONE;
    else
        next.touch = next.phase == HELP_COPIES ? HAND_TELLS : HAND_MOVES;
    return next;
}

static unsigned help_look(struct mgds_gstream *stream)
{
    struct hand_helper *helper = &stream->helper;
    const struct mgds_order *record =
        (const struct mgds_order *)(uintptr_t)hand_acquire(
            &stream->desk->record);

    helper->number = helper->last = hand_acquire(&stream->desk->order);
    helper->claim =
        (struct mgds_claim *)(uintptr_t)hand_acquire(&record->claim);
    helper->gen = hand_acquire(&record->gen);
    return hand_acquire(&stream->desk->order) == helper->number ? HELP_CLAIMS
                                                                : HELP_NONE;
}

static unsigned help_claim(const struct hand_helper *helper)
{
    uint64_t *owner = &helper->claim->owner;
    uint64_t now = hand_acquire(owner);

    while (now < helper->gen)
        if (__atomic_compare_exchange_n(owner, &now, helper->gen, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return HELP_COPIES;
    return HELP_NONE;
}

static unsigned help_copy(const struct mgds_gstream *stream)
{
    const struct mgds_order *record =
        (const struct mgds_order *)(uintptr_t)hand_acquire(
            &stream->desk->record);

    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)record->unit;

    if (hand_acquire(&unit->word) != record->serial)
        hand_fault("a message was ordered that is not there");
    if (record->source)
        hand_copy((void *)(uintptr_t)record->dst,
                  (const void *)(uintptr_t)record->source, record->bytes);
    else
        hand_copy_units((char *)(uintptr_t)record->dst, record->unit,
                        record->bytes);
    if (record->done)
        hand_release((uint64_t *)(uintptr_t)record->done, record->serial);
    hand_raise(&stream->helper.claim->over, stream->helper.gen);
    hand_release(&stream->desk->served, stream->helper.number);
    return HELP_NONE;
}

void hand_step_help(unsigned queue)
{
    struct mgds_gstream *stream = hand_streams[queue];

    hand_follow(queue, HELPS + stream->helper.phase);
    switch (stream->helper.phase) {
    case HELP_NONE:
        stream->helper.phase = help_look(stream);
        break;
    case HELP_CLAIMS:
        stream->helper.phase = help_claim(&stream->helper);
        break;
    default:
        stream->helper.phase = help_copy(stream);
        break;
    }
}

void hand_beat(void)
{
    for (unsigned i = 0; i < HAND_STREAMS; i++) {
        const struct hand_command *command = hand_first(i);

        if (!command || !hand_stands(command) || !command->step.stand)
            continue;
        __atomic_store_n(&command->stream->desk->stands, command->step.stand,
                         __ATOMIC_RELAXED);
        __atomic_fetch_add(&command->stream->desk->beat, 1, __ATOMIC_RELEASE);
    }
}
