/* What the engine does inside, as its own files call each other: programs link
 * with --wrap (CMakeLists.txt). Steps of operations, places and `done` words of
 * rings, lines of the log. Any thread. */
#ifndef MGDS_TEST_WITNESS_H
#define MGDS_TEST_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing is out. Lines of the log are faults, or may come. What others may
 * still write to after an error stays out. */
struct witness_rule {
    bool may_warn, may_keep;
};
void witness_open(const struct witness_rule *rule);
/* What is out is a fault (hand_fault). */
void witness_close(void);

/* So far in this process: how often operations came to their states, by
 * protocol. Of receives it is that of their messages; the last one: none. */
enum { WITNESS_PROTOCOLS = 4, WITNESS_STATES = 32 };
extern unsigned witness_visits[2][WITNESS_PROTOCOLS][WITNESS_STATES];

/* Since witness_open: which steps operations have made and what was posted, in
 * which order. */
uint64_t witness_trace(void);

/* How often places and `done` words were taken. */
unsigned witness_places(void);
unsigned witness_dones(void);

#endif
