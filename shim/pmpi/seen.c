/* Calls that are watched; see seen.h. */
#include "shim/pmpi/seen.h"

#include "shim/base/nvtx.h"
#include "shim/base/stats.h"
#include "shim/base/trace.h"
#include "shim/base/trace_file.h"

const char *const mgds_seen_names[MGDS_SEEN_CALLS] = {
#define MGDS_CALL(name, n, family, mode) [MGDS_CALL_##name] = "MPI_" #name,
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
#define MGDS_MPIX(name, n, kind) [MGDS_SEEN_##name] = "MPIX_" #name,
#include "shim/pmpi/mpix_table.def"
#undef MGDS_MPIX
};

void mgds_seen_enter(struct mgds_seen *seen, unsigned call, uintptr_t stack)
{
    seen->call = call;
    seen->stack = stack;
    mgds_count_call(call);
    mgds_trace_call_enter(call, (int64_t)stack);
    if (call == MGDS_CALL_Abort) /* the last that is seen of the process */
        mgds_trace_close();
    seen->ranged = mgds_nvtx_push(mgds_seen_names[call]);
}

void mgds_seen_leave(const struct mgds_seen *seen, int result)
{
    mgds_nvtx_pop(seen->ranged);
    mgds_trace_call_leave(seen->call, result, (int64_t)seen->stack);
}
