/*
 * Finding the next definitions. The only place in pmpi/ that asks the dynamic
 * linker; it opens no file: every dlopen here is RTLD_NOLOAD.
 */
#include "shim/pmpi/next.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/trace.h"

/* What MPICH returns as MPI_ERR_OTHER, in a process that has no MPI to ask. */
enum { NO_MPI_ERROR = 15 };

mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES];

/* The object that answered when the global scope did not; pinned. */
static void *outside_scope; /* atomic */

static bool is_ours(const void *address)
{
    Dl_info here, there;

    return dladdr((void *)(uintptr_t)is_ours, &here) &&
           dladdr(address, &there) && here.dli_fbase == there.dli_fbase;
}

struct search {
    unsigned skip;       /* objects looked at in earlier rounds */
    char name[PATH_MAX]; /* the next one, or empty */
};

/* Runs under the linker's lock: takes one name a round and nothing else. */
static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;

    (void)size;
    if (search->skip-- > 0)
        return 0;
    if (strlen(info->dlpi_name) < sizeof(search->name))
        strcpy(search->name, info->dlpi_name);
    return 1;
}

/* Does this object, or one it depends on, define the symbol? */
static void *symbol_of(const char *object, const char *symbol)
{
    void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
    void *found;

    if (!handle)
        return NULL;
    found = dlsym(handle, symbol);
    if (!found || is_ours(found)) {
        dlclose(handle);
        return NULL;
    }
    __atomic_store_n(&outside_scope, handle, __ATOMIC_RELEASE);
    return found;
}

/* An MPI loaded RTLD_LOCAL: ask every loaded object, in load order. */
static void *search_objects(const char *symbol)
{
    for (unsigned i = 0;; i++) {
        struct search search = {.skip = i, .name = ""};
        void *found;

        if (!dl_iterate_phdr(search_object, &search))
            return NULL;
        found = search.name[0] ? symbol_of(search.name, symbol) : NULL;
        if (found)
            return found;
    }
}

void *mgds_next_symbol(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    void *handle;

    if (found)
        return found;
    handle = __atomic_load_n(&outside_scope, __ATOMIC_ACQUIRE);
    if (handle)
        return dlsym(handle, symbol);
    return search_objects(symbol);
}

static mgds_word missing(void)
{
    return NO_MPI_ERROR;
}

int mgds_next_is_real(mgds_next_fn *fn)
{
    return fn != (mgds_next_fn *)missing;
}

/* Room for PMPI_ and the longest name of the table. */
enum { SYMBOL_MAX = 64 };

static void symbol_name(char *symbol, enum mgds_call call, enum mgds_face face)
{
    snprintf(symbol, SYMBOL_MAX, "%s%s", face == MGDS_FACE_PMPI ? "P" : "",
             mgds_call_rows[call].name);
}

/*
 * Not cached: an MPI library may still be loaded later. Said once a process:
 * the first name is the one that tells what is wrong.
 */
static mgds_next_fn *report_missing(const char *symbol)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said))
        mgds_err("%s was called, but no library in this process defines it: "
                 "link the program with MPICH (mpicc) or load libmpich.so "
                 "before the call",
                 symbol);
    return (mgds_next_fn *)missing;
}

mgds_next_fn *mgds_next_find(enum mgds_call call, enum mgds_face face)
{
    char symbol[SYMBOL_MAX];
    mgds_next_fn *fn;

    symbol_name(symbol, call, face);
    fn = (mgds_next_fn *)(uintptr_t)mgds_next_symbol(symbol);
    if (!fn)
        return report_missing(symbol);
    mgds_trace_next_resolved(call);
    /* Two threads may both get here; they find the same. */
    __atomic_store_n(&mgds_definitions[call][face], fn, __ATOMIC_RELEASE);
    return fn;
}
