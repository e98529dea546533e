/* Reads MPIX_SIM_HCA_*. */
#include "sim/hca/front/settings.h"

#include <pthread.h>
#include <stdlib.h>

const char *const mgds_hca_model_names[] = {
#define X(name, ...) #name,
#include "sim/hca/front/models.def"
#undef X
    NULL};

const char *const mgds_hca_link_layer_names[] = {"ib", "roce", NULL};

const char *const mgds_hca_distance_names[] = {"none", "pix", "pxb", "phb",
                                               "node", "sys", NULL};

static const struct mgds_config_row rows[] = {
#define X(kind, field, suffix, text, min, max, doc)                            \
    MGDS_CONFIG_ROW(struct mgds_hca_settings, kind, field, suffix, text, min,  \
                    max, doc),
#include "sim/hca/front/hca.def"
#undef X
};

const struct mgds_config_table mgds_hca_settings_table = {
    .prefix = "MPIX_SIM_HCA_",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

static struct mgds_hca_settings settings;

/* Without memory all are zero: no device. */
static void load(void)
{
    if (mgds_config_table_load(&mgds_hca_settings_table, &settings) < 0) {
        mgds_err("software HCA: no memory for its settings: it has no device");
        return;
    }
    mgds_log_init(settings.log_level, NULL, mgds_config_launcher_rank());
    mgds_config_table_warn(&mgds_hca_settings_table);
}

const struct mgds_hca_settings *mgds_hca_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return &settings;
}

const char *mgds_hca_temporary(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && folder[0] == '/' ? folder : "/tmp";
}

const char *mgds_hca_runtime(void)
{
    return getenv("XDG_RUNTIME_DIR");
}
