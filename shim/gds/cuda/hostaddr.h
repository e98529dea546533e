/*
 * Addresses that can only be plain host memory, found without a system call
 * or the driver: most small messages of a CUDA program lie there, and a call
 * into the driver costs them more than all else we do.
 *
 * Why this is right: device, managed and VMM addresses are in mappings that
 * the driver made in this address space and keeps while the memory lives
 * (unified addressing). The kernel lets no two mappings overlap, so a live
 * GPU buffer never lies in
 *   - the data segments of the program itself,
 *   - the heap between its start and the current break,
 *   - the stack that the calling thread runs on.
 * Memory of these that the program registered with CUDA is still host memory;
 * it is only not told apart from the rest.
 */
#ifndef MGDS_CUDA_HOSTADDR_H
#define MGDS_CUDA_HOSTADDR_H

#include <stdbool.h>

/* True if addr lies in one of the three; false says nothing. Any thread. */
bool mgds_hostaddr_known(const void *addr);

/* Whether the CPU may read the byte at addr: one system call, no signal. */
bool mgds_hostaddr_readable(const void *addr);

#endif
