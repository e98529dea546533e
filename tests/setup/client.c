/* A program of somebody else's that uses the installed package: says which
 * library it got. Exit status 0 if header and library are of one version. */
#include <mpix_gds.h>
#include <stdio.h>

#define HEADER_VERSION                                                         \
    (MPIX_GDS_VERSION_MAJOR * 10000 + MPIX_GDS_VERSION_MINOR * 100 +           \
     MPIX_GDS_VERSION_PATCH)

int main(int argc, char **argv)
{
    int64_t version = -1;
    int64_t active = -1;

    MPI_Init(&argc, &argv);
    MPIX_Gds_query(MPIX_GDS_VERSION, &version);
    MPIX_Gds_query(MPIX_GDS_ACTIVE, &active);
    printf("library %d header %d active %d\n", (int)version, HEADER_VERSION,
           (int)active);
    MPI_Finalize();
    return version == HEADER_VERSION && active == 1 ? 0 : 1;
}
