/* Reads MPIX_SIM_* and the few variables of CUDA itself that a GPU obeys. */
#include "sim/cuda/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"

const char *const mgds_gpu_ordering_names[] = {"none", "owner", "all", NULL};

static const struct mgds_config_row rows[] = {
#define X(kind, field, suffix, text, min, max, doc)                            \
    MGDS_CONFIG_ROW(struct mgds_gpu_config, kind, field, suffix, text, min,    \
                    max, doc),
#include "sim/cuda/sim.def"
#undef X
};

/* MPIX_SIM_HCA* and MPIX_SIM_MPI* belong to the other simulators. */
static const char *const reserved[] = {"HCA", "MPI", NULL};

const struct mgds_config_table mgds_gpu_config_table = {
    .prefix = "MPIX_SIM_",
    .reserved = reserved,
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

/* As the driver does: 8 hardware queues, 1 to 32 on request. */
static uint64_t read_connections(void)
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    unsigned long value = text ? strtoul(text, NULL, 10) : 0;

    return value >= 1 && value <= 32 ? value : 8;
}

static void identify(struct mgds_gpu_config *cfg)
{
    char boot[64] = "";
    char ipc[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (cfg->host[0]) {
        snprintf(cfg->identity, sizeof(cfg->identity), "%s", cfg->host);
        return;
    }
    if (fd >= 0) {
        ssize_t n = read(fd, boot, sizeof(boot) - 1);

        boot[n > 0 ? n - 1 : 0] = '\0';
        close(fd);
    }
    if (readlink("/proc/self/ns/ipc", ipc, sizeof(ipc) - 1) < 0)
        ipc[0] = '\0';
    snprintf(cfg->identity, sizeof(cfg->identity), "%s %s", boot, ipc);
}

/* As the driver reads it: numbers up to the first one that names no device. */
static void read_visible(struct mgds_gpu_config *cfg)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");

    cfg->visible_count = 0;
    if (!text) {
        for (unsigned i = 0; i < cfg->gpus; i++)
            cfg->visible[cfg->visible_count++] = i;
        return;
    }
    while (*text && cfg->visible_count < 16) {
        char *end;
        unsigned long number = strtoul(text, &end, 10);

        if (end == text || number >= cfg->gpus)
            return;
        cfg->visible[cfg->visible_count++] = (unsigned)number;
        text = *end == ',' ? end + 1 : end;
    }
}

int mgds_gpu_config_load(struct mgds_gpu_config *cfg)
{
    int rank = mgds_config_launcher_rank();
    int rc = mgds_config_table_load(&mgds_gpu_config_table, cfg);

    if (rc < 0)
        return rc;
    mgds_log_set_rank(rank);
    mgds_config_table_warn(&mgds_gpu_config_table);
    cfg->rank = rank < 0 ? 0 : (uint64_t)rank;
    cfg->connections = read_connections();
    read_visible(cfg);
    identify(cfg);
    return 0;
}
