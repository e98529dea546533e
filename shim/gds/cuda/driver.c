/* Finding the driver's functions; see driver.h for the states. */
#include "shim/gds/cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/cuda/result.h"

enum state { UNTRIED, READY, REFUSED };

static struct mgds_lock driver_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static enum state state;         /* atomic; under driver_lock */
static struct mgds_driver table; /* under driver_lock, constant once READY */

typedef CUresult (*get_version_fn)(int *version);
typedef CUresult (*get_address_fn)(const char *symbol, void **function,
                                   int version, cuuint64_t flags,
                                   CUdriverProcAddressQueryResult *found);

/* One try to fill a table, and why it failed. */
struct attempt {
    struct mgds_driver table;
    void *library;
    get_version_fn get_version;
    get_address_fn get_address;
    char why[PATH_MAX + 256];
};

struct row {
    const char *name;
    int version;
    bool needed;
    size_t offset; /* of the pointer in the table */
};

#define NEEDED true
#define SPARE false
static const struct row rows[] = {
#define X(name, since, need, params)                                           \
    {#name, since, need, offsetof(struct mgds_driver, name)},
#include "shim/gds/cuda/driver.def"
#undef X
};
#undef NEEDED
#undef SPARE

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What to do about a libcuda that is not NVIDIA's driver. */
#define OUT_OF_THE_WAY                                                         \
    "take it out of LD_LIBRARY_PATH and LD_PRELOAD, or install the driver"

static void find_symbol(struct attempt *try, const char *symbol, void *pointer)
{
    void *found = dlsym(try->library, symbol);

    memcpy(pointer, &found, sizeof(found));
}

static int refuse_foreign(struct attempt *try, const char *symbol)
{
    snprintf(try->why, sizeof(try->why),
             "%s has no %s, so it is not NVIDIA's driver: " OUT_OF_THE_WAY,
             mgds_presence_library(), symbol);
    return -ENOTSUP;
}

static int refuse_answer(struct attempt *try, CUresult result)
{
    char text[MGDS_CU_TEXT];
    int rc = mgds_cu(result);

    if (result == CUDA_ERROR_STUB_LIBRARY)
        snprintf(try->why, sizeof(try->why),
                 "%s is the CUDA toolkit's stub, good for linking only, not "
                 "the driver: " OUT_OF_THE_WAY,
                 mgds_presence_library());
    else
        snprintf(try->why, sizeof(try->why),
                 "%s does not tell its version: %s: reinstall the NVIDIA "
                 "driver",
                 mgds_presence_library(), mgds_cu_text(NULL, text));
    return rc;
}

static int refuse_old(struct attempt *try, const char *symbol)
{
    int version = try->table.version;

    snprintf(try->why, sizeof(try->why),
             "the CUDA driver %s is for CUDA %d.%d and has no %s: version "
             "%d.%d is the least, install NVIDIA driver %s or newer",
             mgds_presence_library(), version / 1000, version % 1000 / 10,
             symbol, MGDS_DRIVER_LEAST / 1000, MGDS_DRIVER_LEAST % 1000 / 10,
             MGDS_DRIVER_LEAST_RELEASE);
    return -ENOTSUP;
}

/* The two functions that a driver has by name. */
static int find_entry(struct attempt *try)
{
    CUresult result;

    find_symbol(try, "cuDriverGetVersion", &try->get_version);
    if (!try->get_version)
        return refuse_foreign(try, "cuDriverGetVersion");
    result = try->get_version(&try->table.version);
    if (result != CUDA_SUCCESS)
        return refuse_answer(try, result);
    find_symbol(try, "cuGetProcAddress_v2", &try->get_address);
    if (!try->get_address && try->table.version >= MGDS_DRIVER_LEAST)
        return refuse_foreign(try, "cuGetProcAddress_v2");
    if (!try->get_address)
        return refuse_old(try, "cuGetProcAddress_v2");
    return 0;
}

static int find_row(struct attempt *try, const struct row *row)
{
    CUdriverProcAddressQueryResult found;
    void *function = NULL;

    /* The legacy form: stream 0 given by a program means the legacy stream.
     */
    if (try->get_address(row->name, &function, row->version,
                         CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                         &found) != CUDA_SUCCESS)
        function = NULL;
    if (!function && row->needed)
        return refuse_old(try, row->name);
    memcpy((char *)&try->table + row->offset, &function, sizeof(function));
    return 0;
}

static int fill_table(struct attempt *try)
{
    int rc = find_entry(try);

    for (size_t i = 0; i < ROWS && rc == 0; i++)
        rc = find_row(try, &rows[i]);
    return rc;
}

/* True for the one thread whose attempt counts. */
static bool publish_state(const struct attempt *try, enum state outcome)
{
    bool first;

    mgds_lock_acquire(&driver_lock);
    first = state == UNTRIED;
    if (first) {
        table = try->table;
        /* Release: who sees READY sees the table. */
        __atomic_store_n(&state, outcome, __ATOMIC_RELEASE);
    }
    mgds_lock_release(&driver_lock);
    return first;
}

static void load_driver(void)
{
    struct attempt try = {.library = NULL};

    if (!mgds_presence_cuda())
        return;
    /* The handle is kept: the functions stay where they are. NULL if the
       program has unloaded libcuda meanwhile: then it has no GPU pointers. */
    try.library = dlopen(mgds_presence_library(), RTLD_NOLOAD | RTLD_LAZY);
    if (!try.library)
        return;
    if (fill_table(&try) == 0)
        publish_state(&try, READY);
    else if (publish_state(&try, REFUSED))
        mgds_warn("%s; GPU buffers are not recognised", try.why);
}

static enum state read_state(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

const struct mgds_driver *mgds_driver_found(void)
{
    return read_state() == READY ? &table : NULL;
}

const struct mgds_driver *mgds_driver(void)
{
    const struct mgds_driver *driver = mgds_driver_found();

    if (driver || read_state() != UNTRIED)
        return driver;
    load_driver();
    return mgds_driver_found();
}

static int no_driver(void)
{
    if (read_state() == REFUSED)
        return -ENOTSUP;
    mgds_warn_once("no CUDA in this process: the program has not loaded "
                   "libcuda.so.1 (is the NVIDIA driver installed?)");
    return -ENODEV;
}

static int no_device(CUresult result)
{
    char text[MGDS_CU_TEXT];
    int rc = mgds_cu(result);

    if (result == CUDA_ERROR_NOT_INITIALIZED)
        mgds_warn_once("CUDA is loaded but not initialised: the program must "
                       "call cuInit, or any CUDA runtime function, first");
    else if (result == CUDA_SUCCESS || result == CUDA_ERROR_NO_DEVICE)
        mgds_warn_once("the CUDA driver finds no GPU: check nvidia-smi and "
                       "CUDA_VISIBLE_DEVICES");
    else
        mgds_warn_once("the CUDA driver does not work: %s: check nvidia-smi",
                       mgds_cu_text(mgds_driver_found(), text));
    return rc ? rc : -ENODEV;
}

int mgds_driver_require(void)
{
    const struct mgds_driver *driver = mgds_driver();
    int devices = 0;
    CUresult result;

    if (!driver)
        return no_driver();
    result = driver->cuDeviceGetCount(&devices);
    if (result != CUDA_SUCCESS || devices == 0)
        return no_device(result);
    return 0;
}
