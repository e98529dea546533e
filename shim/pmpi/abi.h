/*
 * Which MPI is underneath, and may we read its handles? MPICH and its kin
 * (Intel MPI, MVAPICH, Cray MPICH) share one ABI of int handles; Open MPI and
 * the standard ABI of MPI-5 have pointers.
 */
#ifndef MGDS_PMPI_ABI_H
#define MGDS_PMPI_ABI_H

enum mgds_abi {
    MGDS_ABI_NONE,  /* no MPI library in the process */
    MGDS_ABI_MPICH, /* handles as in our mpi.h */
    MGDS_ABI_OTHER
};

struct mgds_mpi_library {
    enum mgds_abi abi;
    char name[64];     /* file name of the library, or empty */
    char version[128]; /* first line of MPI_Get_library_version, or empty */
};

/* Looks at the MPI that calls are forwarded to. Legal before MPI_Init. */
void mgds_abi_check(struct mgds_mpi_library *library);

#endif
