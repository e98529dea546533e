/* NCCL as all benchmarks use it: found when the program runs, its calls in a
 * table, its errors in words. */
#ifndef MGDS_BENCH_NCCL_H
#define MGDS_BENCH_NCCL_H

#include <mpi.h>
#include <stddef.h>

#define MGDS_BENCH_NCCL_BYTES 0 /* ncclInt8 */
#define MGDS_BENCH_NCCL_INT 2   /* ncclInt32 */
#define MGDS_BENCH_NCCL_REAL 7  /* ncclFloat32 */
#define MGDS_BENCH_NCCL_SUM 0   /* ncclSum */

struct nccl_comm;

/* Passed by value, as NCCL does. */
struct nccl_id {
    char bytes[128];
};

struct mgds_bench_nccl {
#define X(name, result, params) result(*name) params;
#include "osu-extensions/nccl.def"
#undef X
};

/* Filled by find. */
extern struct mgds_bench_nccl mgds_bench_nccl;

/* `path` is the library or its folder; NULL: where it usually is. Returns 0, or
 * negative errno with one line in why. May be called again. */
int mgds_bench_nccl_find(const char *path, char why[256]);

/* A communicator of all ranks of comm. Collective, after find has succeeded on
 * all of them. Returns 0 or negative errno with a line. */
int mgds_bench_nccl_join(struct nccl_comm **out, MPI_Comm comm, char why[256]);

/* "2.28.9" */
void mgds_bench_nccl_version(char out[32]);

/* Ends the job with a line unless result is success: in the middle of a
 * measurement there is nothing to go on with. */
void mgds_bench_nccl_check(int result, const char *call);

#define MGDS_BENCH_NCCL(call) mgds_bench_nccl_check(mgds_bench_nccl.call, #call)

#endif
