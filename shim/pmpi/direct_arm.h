/*
 * When a rank looks for headers (docs/header-rendezvous.md): from when it is
 * *armed* to the end of MPI. To be armed costs each receive into host memory,
 * so by MPIX_GDS_ARM it may be left until the program has a context of CUDA.
 * But a receive that was begun before, and that nobody looks at, must not get a
 * header.
 *
 *   IDLE     MPI_Init has not agreed with the other ranks
 *   WAITING  it has
 *   ARMED
 *   BARRED   a receive that may outlast its call was begun before
 *
 *   IDLE -> WAITING, ARMED   at the end of MPI_Init
 *   WAITING -> ARMED         by GPU memory in a call, or by such a receive
 *                            where there is a context
 *   WAITING -> BARRED        by such a receive where there is none
 *   IDLE -> BARRED           by such a receive of a session
 *   any -> IDLE              when the last of the world and the sessions ends
 *
 * No other rank must be told: nobody is sent a header before it has shown that
 * it can map memory, and only an armed rank does. Receives that block count
 * where several threads may call MPI, for another may arm meanwhile.
 *
 * Concurrency. The state is written under a lock (LEAF). Who begins a receive
 * of that kind passes here before a shortcut leads past us (frame.h), so a
 * thread that has passed in WAITING has barred, or finds itself armed.
 */
#ifndef MGDS_PMPI_DIRECT_ARM_H
#define MGDS_PMPI_DIRECT_ARM_H

#include <stdbool.h>

#include "shim/pmpi/calls.h"

/* Atomic, for who asks at each call. */
extern bool mgds_direct_is_armed;

static inline bool mgds_direct_armed(void)
{
    return __atomic_load_n(&mgds_direct_is_armed, __ATOMIC_ACQUIRE);
}

/* What was agreed on is in its place. waits: for a context; shared: several
 * threads may call MPI. */
void mgds_direct_arm_begin(bool waits, bool shared);
void mgds_direct_arm_end(void);

/* A call has GPU memory: if this rank waits it is armed, for what begins from
 * now on. */
void mgds_direct_arm_by_gpu(void);

/* This call is about to take its way below, or to our body. */
void mgds_direct_arm_or_bar(enum mgds_call call);

#endif
