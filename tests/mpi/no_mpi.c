/*
 * A program that reaches our MPI_ symbols in a process without any MPI: each
 * call fails with an error and one line, whatever its arguments, and does
 * nothing else.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "tests/lib/mpi_check.h"

int main(void)
{
    int (*init)(int *, char ***) =
        (int (*)(int *, char ***))dlsym(RTLD_DEFAULT, "MPI_Init");
    int (*send)(const void *, int, int, int, int, int) =
        (int (*)(const void *, int, int, int, int, int))dlsym(RTLD_DEFAULT,
                                                              "PMPI_Send");
    int (*query)(int, int64_t *) =
        (int (*)(int, int64_t *))dlsym(RTLD_DEFAULT, "MPIX_Gds_query");
    int64_t active = 1;

    CHECK(init && send && query);
    CHECK(init(NULL, NULL) != 0);
    CHECK(init(NULL, NULL) != 0);
    CHECK(send(NULL, 1, 2, 3, 4, 5) != 0);
    CHECK(query(1, &active) == 0 && active == 0);
    CHECK(query(99, &active) != 0 && query(1, NULL) != 0);
    puts("no_mpi: all well");
    return 0;
}
