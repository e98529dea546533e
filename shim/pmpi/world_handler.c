/* The error handler of MPI_COMM_WORLD; see world_handler.h. */
#include "shim/pmpi/world_handler.h"

#include "shim/pmpi/direct.h"
#include "shim/pmpi/next.h"

static void set(MPI_Errhandler handler)
{
    MGDS_NEXT(Comm_set_errhandler, 2)
    ((mgds_word)MPI_COMM_WORLD, (mgds_word)handler);
}

MPI_Errhandler mgds_world_handler_set_aside(void)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    if (mgds_direct_is_shared())
        return handler;
    MGDS_NEXT(Comm_get_errhandler, 2)
    ((mgds_word)MPI_COMM_WORLD, (mgds_word)&handler);
    set(MPI_ERRORS_RETURN);
    return handler;
}

void mgds_world_handler_take_up(MPI_Errhandler handler)
{
    if (handler == MPI_ERRHANDLER_NULL)
        return;
    set(handler);
    MGDS_NEXT(Errhandler_free, 1)((mgds_word)&handler);
}
