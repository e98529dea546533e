/* The states of a request of ours; see request_state.h. */
#include "shim/pmpi/request_state.h"

static const char *const texts[MGDS_REQUEST_STATES] = {
#define MGDS_STATE(name, text) [MGDS_REQUEST_##name] = text,
#include "shim/pmpi/request_states.def"
};

/* Nothing leads back to NEW, which is 0: no row. */
static const unsigned char next[MGDS_REQUEST_STATES][MGDS_REQUEST_EVENTS] = {
#define MGDS_STEP(event, from, to)                                             \
    [MGDS_REQUEST_##from][MGDS_REQUEST_ON_##event] = MGDS_REQUEST_##to,
#include "shim/pmpi/request_states.def"
};

enum mgds_request_state mgds_request_state_after(enum mgds_request_state state,
                                                 enum mgds_request_event event)
{
    unsigned char to = next[state][event];

    return to == MGDS_REQUEST_NEW ? state : (enum mgds_request_state)to;
}

const char *mgds_request_state_text(enum mgds_request_state state)
{
    return texts[state];
}
