/* Reads MPIX_SIM_* and the few variables of CUDA itself that a GPU obeys. */
#include "sim/cuda/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cuda/state.h"

static uint64_t read_uint(const char *name, const char *standard, uint64_t min,
                          uint64_t max)
{
    const char *text = getenv(name);
    char *end;
    unsigned long long value;

    if (!text || !*text)
        return strtoull(standard, NULL, 10);
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0' && *text != '-' && value >= min &&
        value <= max)
        return value;
    mgds_gpu_say("%s is '%s': want a whole number from %llu to %llu, using %s",
                 name, text, (unsigned long long)min, (unsigned long long)max,
                 standard);
    return strtoull(standard, NULL, 10);
}

static bool read_bool(const char *name, const char *standard, uint64_t min,
                      uint64_t max)
{
    const char *text = getenv(name);

    (void)min;
    (void)max;
    if (!text || !*text)
        text = standard;
    return !(strcmp(text, "no") == 0 || strcmp(text, "0") == 0 ||
             strcmp(text, "off") == 0);
}

static const char *read_string(const char *name, const char *standard,
                               uint64_t min, uint64_t max)
{
    const char *text = getenv(name);

    (void)min;
    (void)max;
    return text ? strdup(text) : standard;
}

#define read__Bool read_bool

static uint64_t launcher_rank(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK",
                                        "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *text = getenv(names[i]);

        if (text && *text)
            return strtoull(text, NULL, 10);
    }
    return 0;
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

void mgds_gpu_config_load(struct mgds_gpu_config *cfg)
{
#define X(kind, field, suffix, text, min, max, doc)                            \
    cfg->field = read_##kind("MPIX_SIM_" suffix, text, min, max);
#include "sim/cuda/sim.def"
#undef X
    cfg->rank = launcher_rank();
    cfg->connections = read_uint("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1, 32);
    read_visible(cfg);
    identify(cfg);
}
