/* Composes the environment of the program: preload list, simulators, paths. */
#include "tools/run/environment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/run/hca.h"
#include "tools/run/preload.h"

/* Where the one line about what went wrong goes. */
struct message {
    char *text;
    size_t size;
};

/* A simulator: what it is called, its file, how a program comes by it, and
 * the variable that tells it how many devices to have. */
struct simulator {
    const char *title;
    const char *file;
    const char *count_variable;
    bool preloaded; /* else found through LD_LIBRARY_PATH by its own name */
};

static const struct simulator simulators[MGDS_SIM_COUNT] = {
    [MGDS_SIM_MPI] = {"MPI helper", "libmpix_sim_mpi.so", NULL, true},
    [MGDS_SIM_GPU] = {"software GPU", "libcuda.so.1", "MPIX_SIM_GPUS", false},
    [MGDS_SIM_HCA] = {"software HCA", "libmpix_sim_hca.so",
                      "MPIX_SIM_HCA_COUNT", true},
};

__attribute__((format(printf, 3, 4))) static int
fail(const struct message *message, int rc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message->text, message->size, format, args);
    va_end(args);
    return rc;
}

static int add_file(struct mgds_preload *list, const char *folder,
                    const char *name, const struct message *message)
{
    char path[PATH_MAX];
    int rc = mgds_place_join(path, folder, name);

    if (rc == 0)
        rc = mgds_preload_add(list, path);
    if (rc == -EINVAL)
        return fail(message, rc,
                    "%s has a blank or a colon in its name, which LD_PRELOAD "
                    "cannot hold: install mpix-gds somewhere else",
                    path);
    return rc < 0 ? fail(message, rc, "%s/%s: %s", folder, name, strerror(-rc))
                  : 0;
}

static int add_library(struct mgds_preload *list, const char *lib,
                       const struct message *message)
{
    static const char name[] = MGDS_LIBRARY_NAME;
    char path[PATH_MAX];
    int rc = mgds_place_join(path, lib, name);

    if (rc == 0 && access(path, R_OK) < 0)
        return fail(message, -ENOENT,
                    "%s: %s: build it (cmake --build), or run the "
                    "mpix-gds-run that was installed beside it",
                    path, strerror(errno));
    return add_file(list, lib, name, message);
}

static int add_simulators(struct mgds_preload *list,
                          const struct mgds_run_options *options,
                          const struct mgds_place *place,
                          const struct message *message)
{
    char path[PATH_MAX];

    for (int i = 0; i < MGDS_SIM_COUNT; i++) {
        const struct simulator *sim = &simulators[i];
        int rc = mgds_place_join(path, place->sim, sim->file);

        if (!options->sim[i].wanted)
            continue;
        if (rc == 0 && access(path, R_OK) < 0)
            return fail(message, -ENOENT,
                        "this build has no %s (%s: %s): leave it out of --sim",
                        sim->title, path, strerror(errno));
        if (rc == 0 && sim->preloaded)
            rc = add_file(list, place->sim, sim->file, message);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Ours come before a user's tools, so that calls reach us first; behind the
 * runtime of a sanitizer only, which refuses any place but the first. */
static int compose_preload(struct mgds_preload *list,
                           const struct mgds_run_options *options,
                           const struct mgds_place *place,
                           const struct message *message)
{
    const char *user = getenv("LD_PRELOAD");
    int rc = 0;

    if (MGDS_SANITIZER_RUNTIME[0])
        rc = mgds_preload_add(list, MGDS_SANITIZER_RUNTIME);
    if (rc == 0)
        rc = mgds_preload_add_user(list, user, true);
    if (rc < 0)
        return fail(message, rc, "preload list: %s", strerror(-rc));
    rc = add_library(list, place->lib, message);
    if (rc == 0)
        rc = add_simulators(list, options, place, message);
    if (rc < 0)
        return rc;
    rc = mgds_preload_add_user(list, user, false);
    return rc < 0 ? fail(message, rc, "preload list: %s", strerror(-rc)) : 0;
}

static int set_variable(const char *name, const char *value,
                        const struct message *message)
{
    if (setenv(name, value, 1) == 0)
        return 0;
    return fail(message, -errno, "setting %s: %s", name, strerror(errno));
}

static int set_preload(const struct mgds_preload *list,
                       const struct message *message)
{
    char *text = mgds_preload_text(list);
    int rc;

    if (!text)
        return fail(message, -ENOMEM, "preload list: %s", strerror(ENOMEM));
    rc = set_variable("LD_PRELOAD", text, message);
    free(text);
    return rc;
}

/* folder first in LD_LIBRARY_PATH, so that its libcuda.so.1 is the one found.
 */
static int lead_library_path(const char *folder, const struct message *message)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    size_t length = strlen(folder);
    char *value;
    int rc;

    if (!old || !old[0])
        return set_variable("LD_LIBRARY_PATH", folder, message);
    if (strncmp(old, folder, length) == 0 && strchr(":;", old[length]))
        return 0; /* strchr finds the end of the string too */
    if (asprintf(&value, "%s:%s", folder, old) < 0)
        return fail(message, -ENOMEM, "library path: %s", strerror(ENOMEM));
    rc = set_variable("LD_LIBRARY_PATH", value, message);
    free(value);
    return rc;
}

static int set_simulators(const struct mgds_run_options *options,
                          const struct mgds_place *place,
                          const struct message *message)
{
    char count[16];
    int rc = 0;

    for (int i = 0; i < MGDS_SIM_COUNT && rc == 0; i++) {
        if (options->sim[i].wanted && !simulators[i].preloaded)
            rc = lead_library_path(place->sim, message);
        if (rc < 0 || options->sim[i].count == 0)
            continue;
        snprintf(count, sizeof(count), "%u", options->sim[i].count);
        rc = set_variable(simulators[i].count_variable, count, message);
    }
    return rc;
}

/* UCX patches the loader's and malloc's memory calls to see unmaps, and the
 * sanitizers have theirs there. A user who set it knows better. */
static int calm_ucx(const struct message *message)
{
    if (!MGDS_SANITIZER_RUNTIME[0] || getenv("UCX_MEM_EVENTS"))
        return 0;
    return set_variable("UCX_MEM_EVENTS", "no", message);
}

/* CUDA reads it when it starts: hardware queues, and so streams that can stand
 * in a wait while others run. */
static int add_connections(const struct message *message)
{
    if (getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        return 0;
    return set_variable("CUDA_DEVICE_MAX_CONNECTIONS", "32", message);
}

/* Under a program that is simulated already, sysfs shows what is simulated. */
static int check_hca(const struct mgds_run_options *options,
                     const struct message *message)
{
    const char *preload = getenv("LD_PRELOAD");
    bool nested =
        preload && strstr(preload, simulators[MGDS_SIM_HCA].file) != NULL;
    int rc = 0;

    if (!options->sim[MGDS_SIM_HCA].wanted)
        return 0;
    if (!nested)
        rc = mgds_run_no_real_hca("/sys/class/infiniband", message->text,
                                  message->size);
    if (rc == 0)
        rc = mgds_run_has_mlx5(message->text, message->size);
    if (rc == 0)
        rc = mgds_run_takes_preload(options->program[0], message->text,
                                    message->size);
    return rc;
}

/* DevX is not modelled: UCX is not to try it. */
static int keep_off_devx(const struct mgds_run_options *options,
                         const struct message *message)
{
    if (!options->sim[MGDS_SIM_HCA].wanted || getenv("UCX_IB_MLX5_DEVX"))
        return 0;
    return set_variable("UCX_IB_MLX5_DEVX", "n", message);
}

int mgds_run_environment_set(const struct mgds_run_options *options,
                             const struct mgds_place *place, char *text,
                             size_t size)
{
    const struct message message = {text, size};
    struct mgds_preload list = {0};
    int rc = compose_preload(&list, options, place, &message);

    if (rc == 0)
        rc = check_hca(options, &message);
    if (rc == 0)
        rc = set_preload(&list, &message);
    mgds_preload_fini(&list);
    if (rc == 0)
        rc = set_simulators(options, place, &message);
    if (rc == 0)
        rc = calm_ucx(&message);
    if (rc == 0)
        rc = keep_off_devx(options, &message);
    if (rc == 0)
        rc = add_connections(&message);
    if (rc == 0 && options->require)
        rc = set_variable("MPIX_GDS_REQUIRE", options->require, &message);
    return rc;
}
