/* Rounds, and the thread that makes them. Only the wire's files include this.
 */
#ifndef MGDS_GDS_WIRE_PROGRESS_H
#define MGDS_GDS_WIRE_PROGRESS_H

#include <stdint.h>

#include "shim/base/config.h"

/* One round; WIRE held. The number of things done. */
int mgds_wire_round(void);

/* The thread, with naps of so many ns at most; setup held (wire.c). 0 or
 * -errno. */
int mgds_wire_thread_start(uint64_t nap_ns, enum mgds_affinity affinity);
void mgds_wire_thread_stop(void);

#endif
