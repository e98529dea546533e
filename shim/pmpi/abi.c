/*
 * The handle-ABI check. Asks the library below for its version text (legal
 * before MPI_Init, MPI-4 9.1) and looks at its name; touches no handle.
 */
#include "shim/pmpi/abi.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/trace.h"
#include "shim/pmpi/next.h"

/* Texts by which members of MPICH's ABI initiative name themselves. */
static const char *const mpich_kin[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};

static bool is_mpich_kin(const char *version)
{
    for (size_t i = 0; i < sizeof(mpich_kin) / sizeof(*mpich_kin); i++)
        if (strstr(version, mpich_kin[i]))
            return true;
    return false;
}

/* MPICH's build for the standard ABI names itself MPICH, its handles differ. */
static bool is_standard_abi(const char *name)
{
    return strncmp(name, "libmpi_abi.", strlen("libmpi_abi.")) == 0;
}

static void copy_name(struct mgds_mpi_library *library, const void *address)
{
    Dl_info info;
    const char *slash;

    if (!dladdr(address, &info))
        return;
    slash = strrchr(info.dli_fname, '/');
    snprintf(library->name, sizeof(library->name), "%.*s",
             (int)sizeof(library->name) - 1,
             slash ? slash + 1 : info.dli_fname);
}

static void copy_version(struct mgds_mpi_library *library, void *function)
{
    /* Longest of the known MPIs; a caller of ours may have a small stack. */
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int (*get_version)(char *, int *) = (int (*)(char *, int *))function;
    int length = 0;

    text[0] = '\0';
    if (get_version(text, &length) != MPI_SUCCESS)
        return;
    text[strcspn(text, "\n")] = '\0';
    for (char *tab = text; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    snprintf(library->version, sizeof(library->version), "%.*s",
             (int)sizeof(library->version) - 1, text);
}

void mgds_abi_check(struct mgds_mpi_library *library)
{
    void *function = mgds_next_symbol("PMPI_Get_library_version");

    *library = (struct mgds_mpi_library){.abi = MGDS_ABI_NONE};
    if (function) {
        library->abi = MGDS_ABI_OTHER;
        copy_name(library, function);
        copy_version(library, function);
        if (is_mpich_kin(library->version) && !is_standard_abi(library->name))
            library->abi = MGDS_ABI_MPICH;
    }
    mgds_trace_abi_checked(library->abi);
}
