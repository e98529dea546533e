/* What host calls wait for; see watched.h. */
#include "shim/gds/comm/watched.h"

#include "shim/base/clock.h"

#define SECOND_NS 1000000000u

struct mgds_watched_probe mgds_watched_probes[MGDS_WATCH_PROBES];

bool mgds_watched_is_asked(const struct mgds_watched *watched)
{
    return watched->since && mgds_clock_ns() - watched->seen < SECOND_NS;
}

void mgds_watched_forget(const struct mgds_comm *comm)
{
    for (unsigned i = 0; i < MGDS_WATCH_PROBES; i++)
        if (mgds_watched_probes[i].comm == comm)
            mgds_watched_probes[i] = (struct mgds_watched_probe){.comm = NULL};
}
