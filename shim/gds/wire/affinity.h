/*
 * Where the progress thread may run. It inherits what its maker has: with ranks
 * bound to one core each (mpiexec -bind-to core) that is the core of a rank
 * that polls without a pause, and messages wait for the scheduler's next turn.
 *
 *   auto     as inherited; if that is one core, all of the core's NUMA node
 *   inherit  as inherited
 *   all      wherever the system lets this process run
 *
 * What a batch system gave the job (a cpuset) is left in no case.
 */
#ifndef MGDS_WIRE_AFFINITY_H
#define MGDS_WIRE_AFFINITY_H

#include <sched.h>
#include <stdbool.h>

#include "shim/base/config.h"

/* Of the calling thread; where the system says nothing, as it is. */
void mgds_affinity_settle(enum mgds_affinity how);

/* Where it is to run, into *out, if that is elsewhere than now. siblings: the
 * processors of the core that the first of now is of; node: those of its node,
 * or none if that is not known. */
bool mgds_affinity_choose(cpu_set_t *out, enum mgds_affinity how,
                          const cpu_set_t *now, const cpu_set_t *siblings,
                          const cpu_set_t *node);

/* As the kernel writes them: "0-3,8,10-11". False: not so. */
bool mgds_affinity_parse(cpu_set_t *out, const char *text);

#endif
