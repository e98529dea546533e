/* The identity of a host. */
#include "shim/base/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/config.h"

int mgds_host_boot_id(char id[MGDS_BOOT_ID])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    int rc = 0;

    if (!file)
        return -errno;
    if (!fgets(id, MGDS_BOOT_ID, file))
        rc = -EIO;
    else
        id[strcspn(id, "\n")] = '\0';
    fclose(file);
    return rc;
}

static int real_name(char *host, size_t size)
{
    struct stat ipc;
    char id[MGDS_BOOT_ID];
    int length;
    int rc = mgds_host_boot_id(id);

    if (rc < 0)
        return rc;
    if (stat("/proc/self/ns/ipc", &ipc) < 0)
        return -errno;
    length = snprintf(host, size, "%s+%lu", id, (unsigned long)ipc.st_ino);
    return (size_t)length < size ? 0 : -ENAMETOOLONG;
}

int mgds_host_name(char *host, size_t size)
{
    const char *simulated = mgds_config_sim_host();

    if (!simulated)
        return real_name(host, size);
    if (strlen(simulated) >= size)
        return -ENAMETOOLONG;
    memcpy(host, simulated, strlen(simulated) + 1);
    return 0;
}

/* FNV-1a. */
uint64_t mgds_host_number(void)
{
    uint64_t number = 0xcbf29ce484222325u;
    char host[256] = "";

    if (mgds_host_name(host, sizeof(host)) < 0)
        return 0;
    for (const char *c = host; *c; c++)
        number = (number ^ (unsigned char)*c) * 0x100000001b3u;
    return number ? number : 1;
}
