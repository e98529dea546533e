/* Not linked with MPI: loads it by dlopen(RTLD_LOCAL), as language bindings
 * do, so that RTLD_NEXT finds nothing; then runs a barrier and ends. The
 * calls go through the loader, where a preloaded library comes first. */
#include <dlfcn.h>
#include <stdio.h>

static void *find(void *handle, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    return symbol ? symbol : dlsym(handle, name);
}

int main(void)
{
    int (*init)(int *, char ***);
    int (*barrier)(int);
    int (*finalize)(void);
    const int world = 0x44000000; /* MPICH's MPI_COMM_WORLD */
    void *mpi = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL);

    if (!mpi) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&init = find(mpi, "MPI_Init");
    *(void **)&barrier = find(mpi, "MPI_Barrier");
    *(void **)&finalize = find(mpi, "MPI_Finalize");
    if (finalize == (int (*)(void))dlsym(mpi, "MPI_Finalize")) {
        fprintf(stderr, "MPI_Finalize is not interposed\n");
        return 1;
    }
    return init(NULL, NULL) || barrier(world) || finalize();
}
