/*
 * Where the definitions further down are: in the next object of the global
 * scope (another tool, or the MPI library), or, when an MPI was loaded out of
 * that scope as Python modules do, in any loaded object that has them.
 * Names of libraries do not matter.
 */
#ifndef MGDS_PMPI_NEXT_H
#define MGDS_PMPI_NEXT_H

#include "shim/pmpi/calls.h"
#include "shim/pmpi/words.h"

/* Those that were found; read by mgds_next alone. Atomic. */
extern mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES]
    __attribute__((visibility("hidden")));
mgds_next_fn *mgds_next_find(enum mgds_call call, enum mgds_face face);

/*
 * The definition of MPI_<call> (or PMPI_<call>, by face) that a call must be
 * forwarded to, found at first use. Never NULL: where there is none, a
 * function that says so once and returns an MPI error. Any thread.
 */
static inline mgds_next_fn *mgds_next(enum mgds_call call, enum mgds_face face)
{
    mgds_next_fn *fn =
        __atomic_load_n(&mgds_definitions[call][face], __ATOMIC_ACQUIRE);

    return fn ? fn : mgds_next_find(call, face);
}

/* The next definition of any symbol, or NULL. Any thread. */
void *mgds_next_symbol(const char *symbol);

/* May this definition be cached for good (is it not the error function)? */
int mgds_next_is_real(mgds_next_fn *fn);

/* Calls PMPI_<name> of the MPI underneath with words. */
#define MGDS_NEXT(name, n)                                                     \
    ((MGDS_FN(n) *)mgds_next(MGDS_CALL_##name, MGDS_FACE_PMPI))

#endif
