/* The table of coverage.h. */
#include "tests/engine/coverage.h"

#include <stdio.h>

#include "shim/gds/msg/op_state.h"
#include "shim/gds/proto/protocol.h"

enum {
    FRAGMENTS = 1u << MGDS_PROTOCOL_FRAGMENTS,
    EAGER = 1u << MGDS_PROTOCOL_EAGER,
    RGET = 1u << MGDS_PROTOCOL_RGET,
    NO_MESSAGE = 1u << (WITNESS_PROTOCOLS - 1)
};

/* By which protocols an operation comes to the state, and why by no other. */
static const struct {
    const char *name;
    bool send;
    enum mgds_op_state state;
    unsigned by;
    const char *why;
} rows[] = {
    {"CALLED", true, MGDS_OP_CALLED, FRAGMENTS | EAGER | RGET, ""},
    {"ASKED", true, MGDS_OP_ASKED, FRAGMENTS | EAGER | RGET, ""},
    {"READY", true, MGDS_OP_READY, RGET, "others send their bytes"},
    {"COPIED", true, MGDS_OP_COPIED, RGET, "others are copied by no receiver"},
    {"SENDING", true, MGDS_OP_SENDING, FRAGMENTS | EAGER,
     "its receiver copies it"},
    {"SENT", true, MGDS_OP_SENT, FRAGMENTS | EAGER, "its receiver copies it"},
    {"READ", true, MGDS_OP_READ, EAGER | RGET, "it is in no ring"},
    {"UNSENT", true, MGDS_OP_UNSENT, 0,
     "no peer dies and no time is over: unit/envelope_lost, _revoke"},
    {"POSTED", false, MGDS_OP_POSTED, NO_MESSAGE, "it is matched"},
    {"HELD", false, MGDS_OP_HELD, EAGER | RGET, "it is in no ring"},
    {"WANTED", false, MGDS_OP_WANTED, FRAGMENTS | EAGER | RGET, ""},
    {"PULLED", false, MGDS_OP_PULLED, FRAGMENTS | EAGER | RGET, ""},
    {"LANDING", false, MGDS_OP_LANDING, FRAGMENTS | EAGER,
     "no bytes come by the wire"},
    {"LANDED", false, MGDS_OP_LANDED, FRAGMENTS | EAGER,
     "no bytes come by the wire"},
    {"DELIVERED", false, MGDS_OP_DELIVERED, FRAGMENTS | EAGER | RGET, ""},
    {"ARRIVED", false, MGDS_OP_ARRIVED, FRAGMENTS | EAGER | RGET, ""},
    {"TAKEN", false, MGDS_OP_TAKEN, EAGER | RGET, "it is in no ring"},
    {"PASSED", false, MGDS_OP_PASSED, EAGER | RGET, "it is in no ring"},
    {"CANCELLED", false, MGDS_OP_CANCELLED, NO_MESSAGE, "it is matched"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char *const protocols[WITNESS_PROTOCOLS] = {
    [MGDS_PROTOCOL_FRAGMENTS] = "fragments",
    [MGDS_PROTOCOL_EAGER] = "eager",
    [MGDS_PROTOCOL_RGET] = "rget",
    [WITNESS_PROTOCOLS - 1] = "unmatched"};

bool coverage_check(const unsigned visits[2][WITNESS_PROTOCOLS][WITNESS_STATES])
{
    bool well = true;

    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < WITNESS_PROTOCOLS; k++) {
            bool visited = visits[rows[i].send][k][rows[i].state] > 0;

            if (visited == !!(rows[i].by & 1u << k))
                continue;
            well = false;
            fprintf(stderr, "a %s of %s has %s been in state %s\n",
                    rows[i].send ? "send" : "receive", protocols[k],
                    visited ? "" : "never", rows[i].name);
        }
    return well;
}

void coverage_print(const unsigned visits[2][WITNESS_PROTOCOLS][WITNESS_STATES])
{
    printf("%-8s %-10s", "", "state");
    for (unsigned k = 0; k < WITNESS_PROTOCOLS; k++)
        printf(" %10s", protocols[k]);
    printf("\n");
    for (unsigned i = 0; i < ROWS; i++) {
        printf("%-8s %-10s", rows[i].send ? "send" : "receive", rows[i].name);
        for (unsigned k = 0; k < WITNESS_PROTOCOLS; k++)
            printf(" %10u", visits[rows[i].send][k][rows[i].state]);
        printf("  %s\n", rows[i].why);
    }
}
