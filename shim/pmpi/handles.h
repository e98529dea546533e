/*
 * Handles of our own: numbers that stand for objects, of a kind of MPICH's
 * handles (0x3c000000 streams, 0x2c000000 messages) in its form "invalid", so
 * that no object of the MPI below has the same number and one that reaches it
 * is refused.
 *
 *   kind (6 bits) | which of two tables of a kind (1) | generation (7)
 *   | place (18); place 0 is the NULL handle
 *
 * Concurrency. A table is under its own lock (LEAF). Objects are counted by
 * their owners: find takes a reference under the lock by the table's get, which
 * says no when the last one has gone.
 */
#ifndef MGDS_PMPI_HANDLES_H
#define MGDS_PMPI_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/lock.h"

struct mgds_handle_place {
    void *object; /* NULL: free */
    unsigned generation;
    unsigned next_free;
};

struct mgds_handles {
    struct mgds_lock lock;
    uint32_t kind;
    bool (*get)(void *object); /* NULL: find is not used */
    /* under lock */
    struct mgds_handle_place *places;
    unsigned room;
    unsigned first_free; /* 0: none */
};

/* In the kind of the second table of a kind. */
#define MGDS_HANDLES_SECOND (UINT32_C(1) << 25)

#define MGDS_HANDLES_INIT(handle_kind, handle_get)                             \
    {                                                                          \
        .lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF), .kind = (handle_kind),         \
        .get = (handle_get)                                                    \
    }

/* 0 and a handle for the object; -ENOMEM; -ENOSPC: 2^18 of them live. */
int mgds_handles_add(int *handle, struct mgds_handles *handles, void *object);

/* The object with a reference, or NULL. */
void *mgds_handles_find(struct mgds_handles *handles, int handle);

/* Takes it off the table, and gives it to one of several who try; else NULL. */
void *mgds_handles_remove(struct mgds_handles *handles, int handle);

#endif
