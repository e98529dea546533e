/*
 * Handles of requests that are our own: numbers of MPICH's kind for requests in
 * its form "invalid", as those of handles.h. No request of the MPI below has
 * such a handle, and one that reaches it is refused. So all calls that take
 * requests are for us if they are given one, nested ones too (nested.h).
 *
 * Pure.
 */
#ifndef MGDS_PMPI_OWN_HANDLE_H
#define MGDS_PMPI_OWN_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

enum { MGDS_OWN_HANDLE_BITS = 26, MGDS_OWN_HANDLE_KIND = 0x0b };

/* Whether the handle is of this form, its request alive or not; the NULL handle
 * is not. */
static inline bool mgds_own_handle_is(int handle)
{
    return (uint32_t)handle >> MGDS_OWN_HANDLE_BITS == MGDS_OWN_HANDLE_KIND &&
           (uint32_t)handle << (32 - MGDS_OWN_HANDLE_BITS) != 0;
}

/* The number-th of these handles; numbers come round after 2^26, and one of
 * those is the NULL handle. */
static inline int mgds_own_handle(uint64_t number)
{
    const uint32_t mask = (UINT32_C(1) << MGDS_OWN_HANDLE_BITS) - 1;
    const uint32_t kind = (uint32_t)MGDS_OWN_HANDLE_KIND
                          << MGDS_OWN_HANDLE_BITS;

    return (int)(kind | ((uint32_t)number & mask));
}

#endif
