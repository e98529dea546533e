/* The public header in C and C++: every function has its type, and nothing of
 * it repeats what an mpi.h of MPICH 4.1 and later declares. */
#include <mpi.h>

#ifdef MGDS_TEST_NEW_MPI
/* A part of that mpi.h, with an attribute as it has them. */
typedef int MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3c000000)
int MPIX_Stream_create(MPI_Info info, MPIX_Stream *stream)
    __attribute__((visibility("default")));
#endif

#include "mpix_gds.h"

/* Functions, never macros: PETSc has macros of these names. */
#if defined(MPIX_Send_enqueue) || defined(MPIX_Stream_create) ||               \
    defined(MPIX_Info_get_hex)
#error "a function of the API is a macro"
#endif

int main(void)
{
    int (*create)(MPI_Info, MPIX_Stream *) = MPIX_Stream_create;
    int (*native)(MPIX_Stream, int *, void *, int) = MPIX_Stream_get_native;
#ifndef MGDS_TEST_NEW_MPI
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) =
        MPIX_Send_enqueue;
    int (*large)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                 MPI_Request *) = PMPIX_Irecv_enqueue_c;

    if (!send || !large)
        return 1;
#endif
    return create && native && MPIX_STREAM_NULL == 0x3c000000 ? 0 : 1;
}
