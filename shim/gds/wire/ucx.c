/* Finding UCX's functions; see ucx.h. */
#include "shim/gds/wire/ucx.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "shim/base/log.h"

#define LIBRARY "libucp.so.0"

/* Active messages with a header and a rendezvous body came with 1.10; peer
 * failure over shared memory with 1.12. */
enum { LEAST_MAJOR = 1, LEAST_MINOR = 12 };

static struct mgds_ucx table; /* written under once, constant after */
static bool usable;           /* likewise */
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct row {
    const char *name;
    size_t offset; /* of the pointer in the table */
};

static const struct row rows[] = {
#define X(name) {#name, offsetof(struct mgds_ucx, name)},
#include "shim/gds/wire/ucx.def"
#undef X
};

static bool find_rows(void *library)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* Finds what its dependencies define too. */
        void *found = dlsym(library, rows[i].name);

        if (!found) {
            mgds_warn("%s has no %s: stream communicators need UCX %d.%d or "
                      "newer (Debian package libucx0)",
                      LIBRARY, rows[i].name, LEAST_MAJOR, LEAST_MINOR);
            return false;
        }
        memcpy((char *)&table + rows[i].offset, &found, sizeof(found));
    }
    return true;
}

static bool new_enough(void)
{
    unsigned major;
    unsigned minor;
    unsigned release;

    table.ucp_get_version(&major, &minor, &release);
    if (major == LEAST_MAJOR && minor >= LEAST_MINOR)
        return true;
    mgds_warn("%s is UCX %u.%u: stream communicators need UCX %d.%d or newer "
              "with the same first number (Debian package libucx0)",
              LIBRARY, major, minor, LEAST_MAJOR, LEAST_MINOR);
    return false;
}

static void load_ucx(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        mgds_warn("stream communicators need UCX: %s: install it (Debian "
                  "package libucx0) or put it in LD_LIBRARY_PATH",
                  dlerror());
        return;
    }
    usable = find_rows(library) && new_enough();
}

const struct mgds_ucx *mgds_ucx(void)
{
    pthread_once(&once, load_ucx);
    return usable ? &table : NULL;
}

int mgds_ucx_errno(ucs_status_t status)
{
    static const struct {
        ucs_status_t status;
        int error;
    } known[] = {
        {UCS_ERR_NO_MEMORY, ENOMEM},
        {UCS_ERR_INVALID_PARAM, EINVAL},
        {UCS_ERR_INVALID_ADDR, EINVAL},
        {UCS_ERR_UNREACHABLE, EHOSTUNREACH},
        {UCS_ERR_REJECTED, ECONNREFUSED},
        {UCS_ERR_NOT_CONNECTED, ECONNRESET},
        {UCS_ERR_CONNECTION_RESET, ECONNRESET},
        {UCS_ERR_ENDPOINT_TIMEOUT, ETIMEDOUT},
        {UCS_ERR_TIMED_OUT, ETIMEDOUT},
        {UCS_ERR_CANCELED, ECANCELED},
        {UCS_ERR_UNSUPPORTED, ENOTSUP},
        {UCS_ERR_NOT_IMPLEMENTED, ENOTSUP},
        {UCS_ERR_NO_DEVICE, ENODEV},
    };

    if (status == UCS_OK)
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status)
            return -known[i].error;
    }
    return -EIO;
}
