/* Finds the next definition of a symbol, however its library was loaded. */
#include "sim/mpi/next.h"

#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MGDS_VERSION_BYTES = 8192 /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH */
};

struct mgds_object_names {
    char **name;
    size_t count;
    bool ours_seen;
};

static struct mgds_sim_next next;
static pthread_once_t next_once = PTHREAD_ONCE_INIT;

static bool is_this_object(const struct dl_phdr_info *info)
{
    Dl_info us;

    return dladdr(&next_once, &us) != 0 &&
           (uintptr_t)us.dli_fbase == info->dlpi_addr;
}

/* Objects before us are in front of us on purpose: asking them would come
 * back here. So only names behind ours, in load order, are kept. */
static int collect_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mgds_object_names *names = arg;
    char **grown;

    (void)size;
    if (!names->ours_seen) {
        names->ours_seen = is_this_object(info);
        return 0;
    }
    if (!info->dlpi_name || info->dlpi_name[0] == '\0')
        return 0;
    grown = realloc(names->name, (names->count + 1) * sizeof(*grown));
    if (!grown)
        return 1;
    names->name = grown;
    names->name[names->count] = strdup(info->dlpi_name);
    if (!names->name[names->count])
        return 1;
    names->count++;
    return 0;
}

/* The handle keeps the object loaded, as our pointer into it must. */
static void *symbol_of_object(const char *object, const char *name)
{
    void *symbol;
    void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);

    if (!handle)
        return NULL;
    symbol = dlsym(handle, name);
    if (!symbol)
        dlclose(handle);
    return symbol;
}

/* dlopen must not be called under dl_iterate_phdr's lock: names first. */
static void *symbol_of_any_object(const char *name)
{
    struct mgds_object_names names = {0};
    void *symbol = NULL;

    dl_iterate_phdr(collect_name, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (!symbol)
            symbol = symbol_of_object(names.name[i], name);
        free(names.name[i]);
    }
    free(names.name);
    return symbol;
}

void *mgds_sim_next_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    return symbol ? symbol : symbol_of_any_object(name);
}

static bool mpi_is_mpich(void)
{
    int (*get_version)(char *, int *);
    static char version[MGDS_VERSION_BYTES];
    int length = 0;

    *(void **)&get_version = mgds_sim_next_symbol("PMPI_Get_library_version");
    if (!get_version || get_version(version, &length) != 0)
        return false;
    return strncmp(version, "MPICH", strlen("MPICH")) == 0;
}

static void find_next(void)
{
    const struct {
        void *slot;
        const char *name;
    } row[] = {
        {&next.worker_progress, "ucp_worker_progress"},
        {&next.disconnect, "ucp_disconnect_nb"},
        {&next.finalize, "MPI_Finalize"},
        {&next.pfinalize, "PMPI_Finalize"},
        {&next.initialized, "PMPI_Initialized"},
        {&next.finalized, "PMPI_Finalized"},
        {&next.barrier, "PMPI_Barrier"},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        void *symbol = mgds_sim_next_symbol(row[i].name);

        memcpy(row[i].slot, &symbol, sizeof(symbol));
    }
    next.mpich = mpi_is_mpich();
}

const struct mgds_sim_next *mgds_sim_next(void)
{
    pthread_once(&next_once, find_next);
    return &next;
}
