/* The loader's path, Python's wheels, or a path that was given. */
#include "osu-extensions/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Below which Python's packages lie, one environment variable or folder. */
static const struct {
    const char *variable;
    const char *folder;
} roots[] = {
    {"VIRTUAL_ENV", "/lib/python3*/site-packages"},
    {"HOME", "/.local/lib/python3*/site-packages"},
    {NULL, "/usr/local/lib/python3*/dist-packages"},
    {NULL, "/usr/local/lib/python3*/site-packages"},
    {NULL, "/usr/lib/python3/dist-packages"},
    {NULL, "/usr/lib/python3*/site-packages"},
};

static void *file_open(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *given_open(const struct mgds_bench_library *library,
                        const char *path, char why[256])
{
    char file[PATH_MAX];
    struct stat info;
    const char *slash = "/";
    void *handle;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        snprintf(file, sizeof(file), "%s/%s", path, library->soname);
    else
        snprintf(file, sizeof(file), "%s%s", *path == *slash ? "" : "./", path);
    handle = file_open(file);
    if (!handle)
        snprintf(why, 256, "option %s: %.200s", library->option, dlerror());
    return handle;
}

static void *wheel_open(const struct mgds_bench_library *library, size_t root)
{
    const char *variable = roots[root].variable;
    const char *base = variable ? getenv(variable) : "";
    char pattern[PATH_MAX];
    void *handle = NULL;
    glob_t found;

    if (!base)
        return NULL;
    snprintf(pattern, sizeof(pattern), "%s%s/%s/%s", base, roots[root].folder,
             library->wheel, library->soname);
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; !handle && i < found.gl_pathc; i++)
        handle = file_open(found.gl_pathv[i]);
    globfree(&found);
    return handle;
}

void *mgds_bench_library_open(const struct mgds_bench_library *library,
                              const char *path, char why[256])
{
    void *handle;

    if (path)
        return given_open(library, path, why);
    handle = file_open(library->soname);
    for (size_t i = 0; !handle && i < sizeof(roots) / sizeof(roots[0]); i++)
        handle = wheel_open(library, i);
    if (!handle)
        snprintf(why, 256,
                 "no %s in the loader's path, nor in %s of Python's packages "
                 "(VIRTUAL_ENV, ~/.local, /usr/local, /usr); give %s PATH",
                 library->soname, library->wheel, library->option);
    return handle;
}

void *mgds_bench_library_find(void *handle,
                              const struct mgds_bench_library *library,
                              const char *name, char why[256])
{
    void *found = dlsym(handle, name);

    if (!found)
        snprintf(why, 256, "%s has no %s: give another one with %s",
                 library->soname, name, library->option);
    return found;
}
