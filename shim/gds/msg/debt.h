/*
 * An error that somebody is still to be told of: the first one is kept, with
 * what it was about in words, until it is paid.
 *
 *   word      written by                       what is visible before
 *   error     add, from 0; pay, to 0           nothing: who sees one pays under
 *                                              the engine's lock
 *   others    the same, under the lock         -
 */
#ifndef MGDS_MSG_DEBT_H
#define MGDS_MSG_DEBT_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_failure;

/* All 0: none. */
struct mgds_debt {
    int error; /* negative errno; atomic */
    uint64_t name;
    char *text; /* NULL: there was no memory for it, or nothing to say */
};

/* Any thread: a load. */
static inline bool mgds_debt_is_due(const struct mgds_debt *debt)
{
    return __atomic_load_n(&debt->error, __ATOMIC_RELAXED) != 0;
}

/* Under the engine's lock: of the operation of that name, which may be 0; what
 * it was is in text, of malloc's, which is taken over, or NULL. */
void mgds_debt_add(struct mgds_debt *debt, int error, uint64_t name,
                   char *text);

/* Under the engine's lock. The error, which out is filled with (NULL: nobody
 * wants more), or 0. */
int mgds_debt_pay(struct mgds_debt *debt, struct mgds_failure *out);

/* Somebody else owes it, unless he owes already. Under the engine's lock. */
void mgds_debt_pass(struct mgds_debt *to, struct mgds_debt *from);

#endif
