/* The pointer test's second half: looking through the loaded objects. */
#include "shim/gds/cuda/presence.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/nvtx.h"
#include "shim/base/stats.h"
#include "shim/base/trace.h"

/* Stands for "settled": nothing is ever appended to it. */
static struct link_map settled;

struct link_map *mgds_presence_anchor = &settled;

static struct mgds_lock scan_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static bool cuda_seen;         /* atomic; false -> true only, under scan_lock */
static char library[PATH_MAX]; /* written before cuda_seen, constant after */
static void (*on_cuda)(void);

struct scan {
    char last[PATH_MAX]; /* name of the object that ends the list */
    char cuda[PATH_MAX]; /* name of the first libcuda in it, or "" */
    unsigned objects;
};

static bool is_libcuda(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return strncmp(name, "libcuda.so", strlen("libcuda.so")) == 0;
}

/* Called under the linker's lock: copies what it needs, calls nothing. */
static int scan_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct scan *scan = arg;

    (void)size;
    scan->objects++;
    if (strlen(info->dlpi_name) >= sizeof(scan->last))
        return 0;
    strcpy(scan->last, info->dlpi_name);
    if (scan->cuda[0] == '\0' && is_libcuda(info->dlpi_name))
        strcpy(scan->cuda, info->dlpi_name);
    return 0;
}

/*
 * Pins the object of that name. The handle is kept: an object that was once
 * last in the list stays loaded. NULL if it was unloaded meanwhile.
 */
static struct link_map *pin_object(const char *name)
{
    return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

static void settle_library(const char *name)
{
    strcpy(library, name);
    /* Sequentially consistent for the shortcuts' sake (shim/pmpi/frame.c). */
    __atomic_store_n(&cuda_seen, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&mgds_presence_anchor, &settled, __ATOMIC_RELEASE);
    if (on_cuda)
        on_cuda();
    mgds_nvtx_enable();
    mgds_trace_cuda_seen();
    mgds_debug("libcuda is in the process: buffers are looked at from now on");
}

/*
 * One pass. Returns true when there is nothing more to look at: CUDA found, or
 * the anchor stands on an object that ends the list.
 */
static bool scan_once(void)
{
    struct scan scan = {.last = "", .cuda = ""};
    struct link_map *last;

    dl_iterate_phdr(scan_object, &scan);
    mgds_count(libraries_changed);
    mgds_trace_libraries_changed(scan.objects);
    if (scan.cuda[0] != '\0') {
        settle_library(scan.cuda);
        return true;
    }
    last = pin_object(scan.last);
    if (!last)
        return false;
    __atomic_store_n(&mgds_presence_anchor, last, __ATOMIC_RELEASE);
    return !mgds_presence_changed();
}

void mgds_presence_watch(void (*seen)(void))
{
    on_cuda = seen;
}

bool mgds_presence_scan(void)
{
    /* Objects that come and go between two passes are another thread's
       doing; after a few rounds the next call is early enough. */
    enum { PASSES = 8 };

    mgds_lock_acquire(&scan_lock);
    if (!cuda_seen)
        for (int i = 0; i < PASSES && !scan_once(); i++)
            ;
    mgds_lock_release(&scan_lock);
    return mgds_presence_cuda();
}

bool mgds_presence_cuda(void)
{
    return __atomic_load_n(&cuda_seen, __ATOMIC_SEQ_CST);
}

/* Of the driver; under WSL; on Tegra. */
bool mgds_presence_gpus(void)
{
    static const char *const devices[] = {"/dev/nvidiactl", "/dev/dxg",
                                          "/dev/nvhost-ctrl-gpu",
                                          "/dev/nvgpu/igpu0/ctrl"};

    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        if (access(devices[i], F_OK) == 0)
            return true;
    return mgds_presence_scan();
}

const char *mgds_presence_library(void)
{
    return mgds_presence_cuda() ? library : "";
}
