/* What waits in streams make of an operation; see op_wait.h. */
#include "shim/gds/msg/op_wait.h"

static const char *const texts[MGDS_OP_WAITINGS] = {
#define MGDS_WAITING(name, text) [MGDS_OP_##name] = (text),
#include "shim/gds/msg/op_waits.def"
};

const unsigned char mgds_op_waiting_next[MGDS_OP_WAITINGS]
                                        [MGDS_OP_WAIT_EVENTS] = {
#define MGDS_WAIT_STEP(event, from, to)                                        \
    [MGDS_OP_##from][MGDS_OP_WAIT_ON_##event] = MGDS_OP_##to,
#include "shim/gds/msg/op_waits.def"
};

const char *mgds_op_waiting_text(enum mgds_op_waiting waiting)
{
    return texts[waiting];
}
