/* Tables of states under test: what follows on what, beside the same written
 * down once more, and what can be come to. At most 32 states and events. */
#ifndef MGDS_TEST_STATES_H
#define MGDS_TEST_STATES_H

#include <stdint.h>

/* steps: "EVENT>STATE ..", in the order of the events; all else is refused. */
struct states_row {
    const char *name;
    const char *steps;
};

struct states_table {
    const struct states_row *row; /* by state */
    unsigned states;
    const char *const *event; /* names */
    unsigned events;
    /* The state itself: the event is refused. */
    unsigned (*after)(unsigned state, unsigned event);
};

/* Every event in every state leads where the rows say. */
void states_assert_steps(const struct states_table *table);

/* A bit for each state that can be come to by events of the mask, with the
 * first. */
uint32_t states_reached(const struct states_table *table, unsigned first,
                        uint32_t events);

#endif
