/* Makes the process context: settings first, then what prints by them. */
#include "shim/ctx.h"

#include <pthread.h>
#include <stdbool.h>

#include "shim/base/fault.h"
#include "shim/base/log.h"

static struct mgds_ctx ctx;
static pthread_once_t ctx_once = PTHREAD_ONCE_INIT;
static bool is_made; /* atomic: who sees it need not ask pthread_once */

static void ctx_make(void)
{
    struct mgds_config *config = &ctx.config;

    mgds_config_load(config);
    mgds_log_init(config->log_level, config->log_file,
                  mgds_config_launcher_rank());
    /* A job has one environment: its first rank speaks for all. */
    if (mgds_config_launcher_rank() <= 0)
        mgds_config_table_warn(&mgds_config_table);
    mgds_fault_configure(config->fault);
    mgds_fault_count_from(config->count_from);
    __atomic_store_n(&is_made, true, __ATOMIC_RELEASE);
}

const struct mgds_ctx *mgds_ctx(void)
{
    if (!__atomic_load_n(&is_made, __ATOMIC_ACQUIRE))
        pthread_once(&ctx_once, ctx_make);
    return &ctx;
}
