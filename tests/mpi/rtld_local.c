/*
 * A program without MPI that loads a module with MPI, RTLD_LOCAL: the MPI is
 * not in the global scope, and RTLD_NEXT finds nothing.
 */
#include <dlfcn.h>

#include "tests/lib/mpi_check.h"

int main(int argc, char **argv)
{
    void *module = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
    int (*run)(void);

    CHECK(module);
    run = (int (*)(void))dlsym(module, "module_main");
    CHECK(run);
    if (run() == 0)
        puts("rtld_local: all well");
    return 0;
}
