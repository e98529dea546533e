/* Makes the process context: settings first, then what prints by them. */
#include "shim/ctx.h"

#include "shim/base/fault.h"
#include "shim/base/log.h"
#include "shim/base/once.h"

static struct mgds_ctx ctx;
static struct mgds_once ctx_once = MGDS_ONCE_INIT;

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
}

const struct mgds_ctx *mgds_ctx(void)
{
    mgds_once(&ctx_once, ctx_make);
    return &ctx;
}
