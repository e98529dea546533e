/* The interception table as data. Touches nothing. */
#include "shim/pmpi/calls.h"

const struct mgds_call_row mgds_call_rows[MGDS_CALLS] = {
#define MGDS_CALL(name, n, family, mode)                                       \
    [MGDS_CALL_##                                                              \
        name] = {"MPI_" #name, n, MGDS_FAMILY_##family, MGDS_MODE_##mode},
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
};

static const char *const family_titles[MGDS_FAMILIES] = {
    [MGDS_FAMILY_INIT] = "Initialisation, finalisation, sessions",
    [MGDS_FAMILY_P2P] = "Point-to-point communication",
    [MGDS_FAMILY_PROBE] = "Probe",
    [MGDS_FAMILY_PART] = "Partitioned communication",
    [MGDS_FAMILY_COMPLETION] = "Completion and requests",
    [MGDS_FAMILY_COLL] = "Collective communication",
    [MGDS_FAMILY_RMA] = "One-sided communication",
    [MGDS_FAMILY_WIN] = "Windows",
    [MGDS_FAMILY_COMM] = "Communicators",
    [MGDS_FAMILY_ERROR] = "Error handling",
};

const char *mgds_family_title(enum mgds_family family)
{
    return family_titles[family];
}
