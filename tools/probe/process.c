/* Facts about this process: our library, MPI, limits. */
#include "tools/probe/facts.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mpi.h>

#include "mpix_gds.h"
#include "tools/probe/cores.h"

/* Called through the loader: linked with it the probe would not start where
 * the library is missing, which is what it has to tell. */
json_t *mgds_probe_library(void)
{
    int64_t value[MPIX_GDS_CUDA + 1] = {0};
    __typeof__(&MPIX_Gds_query) query;
    const char *path = "";
    int rc = MPI_SUCCESS;
    Dl_info info;

    *(void **)&query = dlsym(RTLD_DEFAULT, "MPIX_Gds_query");
    if (query && dladdr(*(void **)&query, &info) != 0 && info.dli_fname)
        path = info.dli_fname;
    for (int what = 0; query && rc == MPI_SUCCESS && what <= MPIX_GDS_CUDA;
         what++)
        rc = query(what, &value[what]);
    return json_pack("{s:b s:s s:i s:I s:I s:I}", "found", query != NULL,
                     "path", path, "error", rc, "version",
                     (json_int_t)value[MPIX_GDS_VERSION], "state",
                     (json_int_t)value[MPIX_GDS_ACTIVE], "cuda",
                     (json_int_t)value[MPIX_GDS_CUDA]);
}

/* Interposers export MPI's names too, so the name of the file decides. */
static int find_mpi(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;

    (void)size;
    if (strncmp(name, "libmpich.so", 11) != 0 &&
        strncmp(name, "libmpi.so", 9) != 0)
        return 0;
    snprintf(arg, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

json_t *mgds_probe_mpi(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char path[PATH_MAX] = "";
    int length = 0;

    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS)
        version[0] = '\0';
    version[strcspn(version, "\n")] = '\0';
    for (char *c = version; (c = strchr(c, '\t')) != NULL;)
        *c = ' ';
    dl_iterate_phdr(find_mpi, path);
    return json_pack("{s:s s:s s:b}", "version", version, "path", path,
                     "pointer_handles",
                     dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL);
}

static json_int_t bytes_of(rlim_t limit)
{
    return limit == RLIM_INFINITY ? -1 : (json_int_t)limit;
}

json_t *mgds_probe_memlock(void)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_MEMLOCK, &limit); /* cannot fail: the resource exists */
    return json_pack("{s:I s:I}", "soft", bytes_of(limit.rlim_cur), "hard",
                     bytes_of(limit.rlim_max));
}

json_t *mgds_probe_cores(void)
{
    return json_pack("{s:i s:I}", "rank", mgds_probe_rank_cores(), "host",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}
