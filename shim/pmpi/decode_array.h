/* Subarrays and distributed arrays: in each dimension some blocks of the whole
 * array, nested. For decode.c; knows MPI's constants only. */
#ifndef MGDS_PMPI_DECODE_ARRAY_H
#define MGDS_PMPI_DECODE_ARRAY_H

#include <mpi.h>
#include <stdbool.h>

struct mgds_layout;

/* Arrays of dims values each, made by init once dims is set. */
struct mgds_array {
    unsigned dims;
    int order;                  /* MPI_ORDER_* */
    bool distributed;           /* a darray; else a subarray */
    MPI_Count rank;             /* darray: of the process */
    MPI_Count *size;            /* of the whole array, in elements */
    MPI_Count *subsize, *start; /* subarray */
    MPI_Count *distribution, *argument, *processes; /* darray */
    MPI_Count *coordinate;                          /* darray; init's own */
};

int mgds_array_init(struct mgds_array *array);
void mgds_array_fini(struct mgds_array *array);

/* The layout of the array's part, elements being child; its extent is for the
 * caller to set. -ENOMEM, -EOVERFLOW. */
int mgds_array_layout(struct mgds_layout **out, const struct mgds_array *array,
                      struct mgds_layout *child);

#endif
