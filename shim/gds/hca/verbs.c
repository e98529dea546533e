/* Finding rdma-core's functions; see verbs.h. */
#include "shim/gds/hca/verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "shim/base/log.h"

enum library { VERBS, MLX5, LIBRARIES };

static struct mgds_verbs table;     /* written under once, constant after */
static struct mgds_refusal why_not; /* likewise */
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct row {
    const char *name;
    size_t offset; /* of the pointer in the table */
    enum library library;
    bool needed;
};

#define NEEDED true
#define SPARE false
static const struct row rows[] = {
#define X(library, name, need)                                                 \
    {#name, offsetof(struct mgds_verbs, name), library, need},
#include "shim/gds/hca/verbs.def"
#undef X
};
#undef NEEDED
#undef SPARE

static int open_library(void **out, const char *name,
                        enum mgds_refusal_reason reason,
                        struct mgds_refusal *refusal)
{
    *out = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*out)
        return 0;
    mgds_debug("%s", dlerror());
    return mgds_refuse(refusal, reason, 0);
}

static int find_row(struct mgds_verbs *verbs, void *const *libraries,
                    const struct row *row, struct mgds_refusal *refusal)
{
    void *found = dlsym(libraries[row->library], row->name);

    if (!found && row->needed) {
        mgds_debug("rdma-core has no %s", row->name);
        return mgds_refuse(refusal, MGDS_REFUSAL_OLD_VERBS, 0);
    }
    memcpy((char *)verbs + row->offset, &found, sizeof(found));
    return 0;
}

int mgds_verbs_find(struct mgds_verbs *verbs, const char *verbs_library,
                    const char *mlx5_library, struct mgds_refusal *refusal)
{
    void *libraries[LIBRARIES];
    int rc = open_library(&libraries[VERBS], verbs_library,
                          MGDS_REFUSAL_NO_VERBS, refusal);

    if (rc == 0)
        rc = open_library(&libraries[MLX5], mlx5_library, MGDS_REFUSAL_NO_MLX5,
                          refusal);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == 0; i++)
        rc = find_row(verbs, libraries, &rows[i], refusal);
    return rc;
}

static void load(void)
{
    (void)mgds_verbs_find(&table, "libibverbs.so.1", "libmlx5.so.1", &why_not);
}

const struct mgds_verbs *mgds_verbs(struct mgds_refusal *refusal)
{
    pthread_once(&once, load);
    *refusal = why_not;
    return why_not.reason == MGDS_REFUSAL_NONE ? &table : NULL;
}
