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

/* By which protocols an operation comes to the state, and why by no other; and
 * by which others it comes there when things go wrong. */
static const struct {
    const char *name;
    const char *why;
    enum mgds_op_state state;
    unsigned by, troubled;
    bool send;
} rows[] = {
    {"CALLED", "", MGDS_OP_CALLED, FRAGMENTS | EAGER | RGET, 0, true},
    {"ASKED", "", MGDS_OP_ASKED, FRAGMENTS | EAGER | RGET, 0, true},
    {"READY", "others send their bytes", MGDS_OP_READY, EAGER | RGET, 0, true},
    {"REFUSED", "its receiver can copy it", MGDS_OP_REFUSED, FRAGMENTS, RGET,
     true},
    {"COPIED", "others are copied by no receiver", MGDS_OP_COPIED, RGET, 0,
     true},
    {"FLOWING", "its receiver copies it", MGDS_OP_FLOWING, FRAGMENTS, 0, true},
    {"SENDING", "its receiver copies it", MGDS_OP_SENDING, FRAGMENTS, 0, true},
    {"SENT", "its receiver copies it", MGDS_OP_SENT, FRAGMENTS, 0, true},
    {"READ", "it is in no ring", MGDS_OP_READ, EAGER | RGET, 0, true},
    {"UNSENT", "no peer dies and no time is over", MGDS_OP_UNSENT, 0,
     FRAGMENTS | EAGER | RGET, true},
    {"POSTED", "it is matched", MGDS_OP_POSTED, NO_MESSAGE, 0, false},
    {"HELD", "it is in no ring", MGDS_OP_HELD, EAGER | RGET, 0, false},
    {"WANTED", "", MGDS_OP_WANTED, FRAGMENTS | EAGER | RGET, 0, false},
    {"PULLED", "", MGDS_OP_PULLED, FRAGMENTS | EAGER | RGET, 0, false},
    {"LANDING", "no bytes come by the wire", MGDS_OP_LANDING, FRAGMENTS, 0,
     false},
    {"FILLING", "no bytes come by the wire", MGDS_OP_FILLING, FRAGMENTS, 0,
     false},
    {"DELIVERED", "", MGDS_OP_DELIVERED, FRAGMENTS | EAGER | RGET, NO_MESSAGE,
     false},
    {"ARRIVED", "", MGDS_OP_ARRIVED, FRAGMENTS | EAGER | RGET, NO_MESSAGE,
     false},
    {"TAKEN", "it is in no ring", MGDS_OP_TAKEN, EAGER | RGET, 0, false},
    {"PASSED", "it is in no ring", MGDS_OP_PASSED, EAGER | RGET, 0, false},
    {"CANCELLED", "it is matched", MGDS_OP_CANCELLED, NO_MESSAGE, 0, false},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
/* NEW is where all begin. */
_Static_assert(ROWS + 1 == (int)MGDS_OP_STATES, "a state has no row, or two");

static const char *const protocols[WITNESS_PROTOCOLS] = {
    [MGDS_PROTOCOL_FRAGMENTS] = "fragments",
    [MGDS_PROTOCOL_EAGER] = "eager",
    [MGDS_PROTOCOL_RGET] = "rget",
    [WITNESS_PROTOCOLS - 1] = "unmatched"};

/* Whether the state is as it is to be: visited, or not. */
static bool is_well(unsigned row, unsigned protocol, bool visited,
                    enum coverage_of of)
{
    bool by = rows[row].by & 1u << protocol;
    bool also = rows[row].troubled & 1u << protocol;

    if (of == COVERAGE_TROUBLED)
        return visited ? by || also : !also;
    return visited == by ||
           (of == COVERAGE_THREADS && rows[row].state == MGDS_OP_CANCELLED);
}

bool coverage_check(const unsigned visits[2][WITNESS_PROTOCOLS][WITNESS_STATES],
                    enum coverage_of of)
{
    bool well = true;

    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < WITNESS_PROTOCOLS; k++) {
            bool visited = visits[rows[i].send][k][rows[i].state] > 0;

            if (is_well(i, k, visited, of))
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
