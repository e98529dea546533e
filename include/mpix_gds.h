/*
 * mpix-gds: MPI communication in CUDA-stream order.
 *
 * The public API. A program that includes this header is linked with
 * libmpix_gds.so before MPICH (pkg-config mpix-gds does it), or leaves the
 * symbols open and is started with the library preloaded (mpix-gds-run).
 *
 * Every function has a PMPIX_ twin. Unless a function says otherwise it
 * returns an MPI error class, MPI_SUCCESS when all went well, and may be
 * called by any thread that the program's thread level lets call MPI.
 */
#ifndef MPIX_GDS_H
#define MPIX_GDS_H

#include <mpi.h>
#include <stdint.h>

#define MPIX_GDS_VERSION_MAJOR 0
#define MPIX_GDS_VERSION_MINOR 1
#define MPIX_GDS_VERSION_PATCH 0

/* What MPIX_Gds_query answers; values are part of the ABI. */
#define MPIX_GDS_VERSION 0 /* major * 10000 + minor * 100 + patch */
#define MPIX_GDS_ACTIVE 1  /* 1: calls are served; 0: they only pass through */
#define MPIX_GDS_CUDA 2    /* 1: libcuda is in this process */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tells about the library that is loaded, which may be newer than this header.
 *
 * what   one of the names above
 * value  where the answer goes; owned by the caller; untouched on error
 *
 * MPIX_GDS_ACTIVE is 0 above an MPI without MPICH's handles, with
 * MPIX_GDS_ENABLE=no, and in a process without MPI.
 *
 * Errors: MPI_ERR_ARG for an unknown question or a NULL value. No error
 * handler is called. Legal before MPI_Init and after MPI_Finalize, from any
 * thread at any time. Puts nothing on a stream.
 */
int MPIX_Gds_query(int what, int64_t *value);
int PMPIX_Gds_query(int what, int64_t *value);

#ifdef __cplusplus
}
#endif

#endif
