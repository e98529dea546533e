/* The states of an operation; see op_state.h. */
#include "shim/gds/msg/op_state.h"

enum is { OPEN, MOVED };

static const struct {
    enum is is;
    const char *text;
} states[MGDS_OP_STATES] = {
#define MGDS_STATE(name, is, text) [MGDS_OP_##name] = {is, text},
#include "shim/gds/msg/op_states.def"
};

const unsigned char mgds_op_state_next[MGDS_OP_STATES][MGDS_OP_EVENTS] = {
#define MGDS_STEP(event, from, to)                                             \
    [MGDS_OP_##from][MGDS_OP_ON_##event] = MGDS_OP_##to,
#include "shim/gds/msg/op_states.def"
};

bool mgds_op_state_is_moved(enum mgds_op_state state)
{
    return states[state].is == MOVED;
}

const char *mgds_op_state_text(enum mgds_op_state state)
{
    return states[state].text;
}
