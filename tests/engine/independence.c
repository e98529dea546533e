/* Which events touch each other, and what they are called; see events.h. */
#include <stdio.h>

#include "tests/engine/events.h"

static bool is_of_queue(const struct event *event)
{
    return event->kind == EVENT_STEP || event->kind == EVENT_HELP;
}

static bool moves(const struct event *event)
{
    return event->touch == HAND_MOVES || event->touch == HAND_LOOKS ||
           event->touch == HAND_GIVES_UP || event->kind == EVENT_HELP;
}

static bool is_start(const struct event *call)
{
    return call->kind == EVENT_CALL && events_act_puts(call->act);
}

/* Whatever comes on a stream may keep what is beside it. */
static bool is_stalled(void)
{
    return events_trouble() == PROGRAM_STALLED;
}

/* What a stream does, and an event of the engine. Who hears that it has lost
 * the other tells kernels to give up. Words that the stream has
 * stored are read by rounds, chores and calls that ask, not by the handlers of
 * the wire nor by calls that start something; a round, a call or a handler may
 * fill a record. Bodies are in memory that PACK and UNPACK copy. */
static bool are_apart(const struct event *step, const struct event *other)
{
    bool body = other->kind == EVENT_READ || other->kind == EVENT_LAND;

    if (other->kind >= EVENT_STOP)
        return false;
    if (step->who >= HAND_STREAMS && is_stalled())
        return false;
    if (other->kind == EVENT_TIME)
        return !(events_trouble() == PROGRAM_TIMED);
    switch (step->touch) {
    case HAND_PASSES:
    case HAND_MOVES:
        return !body;
    case HAND_COPIES:
        return !body && (other->kind != EVENT_CALL || is_start(other));
    case HAND_TELLS:
        return other->kind == EVENT_HEAD || body || is_start(other);
    default:
        return false;
    }
}

bool events_are_independent(const struct event *a, const struct event *b)
{
    bool a_steps = is_of_queue(a), b_steps = is_of_queue(b);

    if (a_steps && b_steps)
        return a->who != b->who && a->who < HAND_STREAMS &&
               b->who < HAND_STREAMS && !(moves(a) && moves(b));
    if (a_steps || b_steps)
        return a_steps ? are_apart(a, b) : are_apart(b, a);
    return false;
}

bool events_are_same(const struct event *a, const struct event *b)
{
    return a->kind == b->kind && a->who == b->who && a->what == b->what &&
           a->phase == b->phase;
}

void events_text(const struct event *event, char *out, unsigned bytes)
{
    static const char *const parts[] = {"", " is read", " lands"};
    static const char *const pausers[EVENTS_PAUSERS] = {
        [EVENTS_CALLER_0] = "caller 0",
        [EVENTS_CALLER_1] = "caller 1",
        [EVENTS_STREAMS_0] = "streams 0",
        [EVENTS_STREAMS_1] = "streams 1",
        [EVENTS_WIRE] = "the wire"};

    switch (event->kind) {
    case EVENT_CALL:
        snprintf(out, bytes, "caller %u: %s%s", event->who, event->name,
                 event->phase > 0 ? " again" : "");
        break;
    case EVENT_HEAD:
    case EVENT_READ:
    case EVENT_LAND:
        snprintf(out, bytes, "%s %u%s", event->name, event->who,
                 parts[event->kind - EVENT_HEAD]);
        break;
    case EVENT_PAUSE:
        snprintf(out, bytes, "%s %s", pausers[event->who], event->name);
        break;
    case EVENT_LOSE:
        snprintf(out, bytes, "rank %u %s", event->who, event->name);
        break;
    case EVENT_STEP:
    case EVENT_HELP:
        snprintf(out, bytes, "%s %u: %s",
                 event->who < HAND_STREAMS ? "stream" : "gpu",
                 event->who < HAND_STREAMS ? event->who
                                           : event->who - HAND_STREAMS,
                 event->name);
        break;
    default:
        snprintf(out, bytes, "%s", event->name);
        break;
    }
}
