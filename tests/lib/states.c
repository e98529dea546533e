/* Tables of states under test; see states.h. */
#include "tests/lib/states.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void assert_steps_of(const struct states_table *table, unsigned from)
{
    char steps[256] = "";

    for (unsigned event = 0; event < table->events; event++) {
        unsigned to = table->after(from, event);
        size_t n = strlen(steps);

        if (to != from)
            snprintf(steps + n, sizeof(steps) - n, "%s%s>%s", n ? " " : "",
                     table->event[event], table->row[to].name);
    }
    assert_string_equal(steps, table->row[from].steps);
}

void states_assert_steps(const struct states_table *table)
{
    for (unsigned from = 0; from < table->states; from++)
        assert_steps_of(table, from);
}

/* The states that are come to in one step from these, with them. */
static uint32_t and_next(const struct states_table *table, uint32_t states,
                         uint32_t events)
{
    for (unsigned from = 0; from < table->states; from++)
        for (unsigned event = 0; event < table->events; event++)
            if (states & UINT32_C(1) << from && events & UINT32_C(1) << event)
                states |= UINT32_C(1) << table->after(from, event);
    return states;
}

uint32_t states_reached(const struct states_table *table, unsigned first,
                        uint32_t events)
{
    uint32_t all = UINT32_C(1) << first, before = 0;

    while (all != before) {
        before = all;
        all = and_next(table, all, events);
    }
    return all;
}
