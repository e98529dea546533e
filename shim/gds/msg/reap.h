/* Streams that nobody has any more are given up; timelines.h says how. Without
 * the engine's lock. */
#ifndef MGDS_MSG_REAP_H
#define MGDS_MSG_REAP_H

#include <stdbool.h>

/* Whether some have become so since they were looked at last: any thread, two
 * loads. */
bool mgds_reap_due(void);

/* Those that are known to have reached all their fences. Costs two loads if
 * there are none. */
void mgds_timelines_reap(void);
/* The same in a host call, where the GPU can be queried for deferred signals:
 * CUDA calls that return at once. */
void mgds_timelines_recall(void);

#endif
