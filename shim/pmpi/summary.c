/* The trace file, and the line at the end, if they were asked for. */
#include "shim/pmpi/summary.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/base/trace_file.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/process.h"

static bool is_wanted(enum mgds_summary who, int rank)
{
    return who == MGDS_SUMMARY_ALL || (who == MGDS_SUMMARY_RANK0 && rank <= 0);
}

/* A line of the log has its limit, so there may be several: each ends between
 * two counters. */
static void say(char *text)
{
    enum { MOST = 900 };
    char *cut;

    while (strlen(text) > MOST && (cut = memrchr(text, ';', MOST)) != NULL) {
        *cut = '\0';
        mgds_log_say("%s", text);
        text = cut + 2;
    }
    mgds_log_say("%s; cuda %s the process", text,
                 mgds_presence_cuda() ? "in" : "not in");
}

void mgds_summary_begin(int rank)
{
    const struct mgds_config *config = &mgds_ctx()->config;

    if (config->trace && mgds_process()->active)
        mgds_trace_open(config->trace_file, rank);
}

void mgds_summary_end(int rank)
{
    const struct mgds_config *config = &mgds_ctx()->config;
    char calls[4096];

    if (config->trace)
        mgds_trace_close();
    if (!is_wanted(config->summary, rank))
        return;
    mgds_stats_summary(calls, sizeof(calls));
    say(calls);
}
