/* Lazy start of the interception layer. */
#include "shim/pmpi/process.h"

#include "shim/base/log.h"
#include "shim/base/once.h"
#include "shim/base/stats.h"
#include "shim/base/trace.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/seen.h"

static struct mgds_process process;
static struct mgds_once process_once = MGDS_ONCE_INIT;

/* One line a job: the launcher's first rank says it, or a lone process. */
static void say_inert(void)
{
    if (mgds_config_launcher_rank() > 0)
        return;
    mgds_warn("inactive: %s (%s) does not have MPICH's handles; its calls "
              "pass through unchanged",
              process.library.version, process.library.name);
}

static void watch_start(bool trace)
{
    if (mgds_stats_calls_init(MGDS_SEEN_CALLS, mgds_seen_names) < 0)
        mgds_warn("calls are not counted: out of thread-specific keys");
    if (trace && mgds_trace_start() < 0)
        mgds_warn("events are not recorded: out of thread-specific keys");
}

static void process_start(void)
{
    const struct mgds_config *config = &mgds_ctx()->config;

    mgds_abi_check(&process.library);
    if (process.library.abi == MGDS_ABI_OTHER)
        say_inert();
    process.active = config->enable && process.library.abi == MGDS_ABI_MPICH;
    process.watched = process.active &&
                      (config->summary != MGDS_SUMMARY_NONE || config->trace);
    if (process.watched)
        watch_start(config->trace);
    if (process.active) {
        mgds_presence_watch(mgds_frame_close_shortcuts);
        mgds_presence_scan();
    }
}

const struct mgds_process *mgds_process(void)
{
    mgds_once(&process_once, process_start);
    return &process;
}
