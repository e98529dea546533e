/* What machine is this: asked in a process of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

static void add_fact(struct mgds_machine *m, const char *key, const char *value)
{
    size_t used = strlen(m->facts);

    snprintf(m->facts + used, sizeof(m->facts) - used, "%s: %s\n", key, value);
}

static void add_number(struct mgds_machine *m, const char *key, int value)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", value);
    add_fact(m, key, text);
}

static bool start(struct mgds_machine *m)
{
    int count = 0;
    CUresult rc = cu.Init(0);

    if (rc == CUDA_SUCCESS)
        rc = cu.DeviceGetCount(&count);
    if (rc == CUDA_SUCCESS && count > 0) {
        mgds_env_start();
        return true;
    }
    snprintf(m->why, sizeof(m->why),
             "%.500s: no CUDA device (cuInit gives %d, %d devices)",
             mgds_driver_path(), (int)rc, count);
    return false;
}

static void describe(struct mgds_machine *m)
{
    static const struct {
        const char *key;
        CUdevice_attribute attribute;
    } rows[] = {
        {"flush remote writes", CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES},
        {"pageable access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
        {"host pointer for registered",
         CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
        {"async engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    };
    char name[256] = "?";
    int version = 0;

    add_fact(m, "library", mgds_driver_path());
    OK(cu.DriverGetVersion(&version));
    add_number(m, "driver version", version);
    add_number(m, "symbols missing", mgds_driver_missing());
    add_number(m, "devices", mgds_env_devices());
    OK(cu.DeviceGetName(name, sizeof(name), mgds_env_device(0)));
    add_fact(m, "device", name);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        add_number(m, rows[i].key, mgds_env_attribute(0, rows[i].attribute));
    m->needs = mgds_env_needs();
}

static void probe_in_child(int to)
{
    struct mgds_machine m = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mgds_driver_load(m.why, sizeof(m.why)) == 0 && start(&m))
        describe(&m);
    if (write(to, &m, sizeof(m)) != (ssize_t)sizeof(m))
        _exit(1);
    exit(0);
}

static bool take(int from, struct mgds_machine *m)
{
    char *at = (char *)m;
    size_t got = 0;
    ssize_t n;

    while (got < sizeof(*m) && (n = read(from, at + got, sizeof(*m) - got)) > 0)
        got += (size_t)n;
    return got == sizeof(*m);
}

void mgds_machine_probe(struct mgds_machine *machine)
{
    int ends[2], status = 0;
    pid_t pid;

    memset(machine, 0, sizeof(*machine));
    fflush(NULL);
    if (pipe(ends) || (pid = fork()) < 0) {
        perror("driver-list");
        exit(1);
    }
    if (pid == 0)
        probe_in_child(ends[1]);
    close(ends[1]);
    if (!take(ends[0], machine))
        snprintf(machine->why, sizeof(machine->why),
                 "the process that asks for the devices died; its last words "
                 "are above");
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
}
