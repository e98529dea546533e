/* Negative errno to MPI errors. */
#include "shim/pmpi/errmap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "shim/base/log.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/untied.h"

/* ENOSYS and ENOTBLK stand for what no other layer reports. */
static const struct {
    int error;
    int class;
    const char *text;
} errors[] = {
    {EFAULT, MPI_ERR_BUFFER,
     "a buffer in GPU memory was freed, or is too small for its count and "
     "datatype: keep it until the call that uses it is complete"},
    {ENOMEM, MPI_ERR_NO_MEM,
     "out of memory for the host copy of a GPU buffer: use smaller messages, "
     "or fewer at a time"},
    {ESHUTDOWN, MPI_ERR_OTHER,
     "the CUDA context of a buffer was destroyed or reset while MPI used it"},
    {EIO, MPI_ERR_OTHER,
     "the GPU reports an error (perhaps of a kernel of this program), so a "
     "buffer in its memory cannot be copied"},
    {EOVERFLOW, MPI_ERR_COUNT,
     "a buffer in GPU memory is larger than 64 bits can say"},
    {ENOTSUP, MPI_ERR_TYPE,
     "a datatype that cannot be taken apart was used with GPU memory"},
    {ENOSYS, MPI_ERR_UNSUPPORTED_OPERATION,
     "GPU memory cannot be used in one-sided communication yet: give the "
     "window and its calls host memory"},
    {ENOTBLK, MPI_ERR_BUFFER,
     "MPI_Buffer_attach was given GPU memory, into which the MPI library would "
     "copy by itself: attach host memory; messages may still be in GPU memory"},
    /* Of stream communicators; the engine has said it, or MPI's text does. */
    {EMSGSIZE, MPI_ERR_TRUNCATE, NULL},
    {EBUSY, MPI_ERR_UNSUPPORTED_OPERATION, NULL},
    {ECANCELED, MPI_ERR_OTHER, NULL},
    {ENOTCONN, MPI_ERR_OTHER, NULL},
    {ENODEV, MPI_ERR_OTHER, NULL},
    {ETIMEDOUT, MPI_ERR_OTHER, NULL},
    {EXDEV, MPI_ERR_BUFFER, NULL},
    {EPERM, MPI_ERR_OTHER, NULL},
    /* Last: for all others. */
    {0, MPI_ERR_OTHER, "a buffer in GPU memory cannot be copied"},
};

enum { ERRORS = sizeof(errors) / sizeof(*errors) };

static unsigned row_of(int rc)
{
    unsigned row = 0;

    while (row < ERRORS - 1 && errors[row].error != -rc)
        row++;
    return row;
}

int mgds_mpi_class(int rc)
{
    return rc >= 0 ? MPI_SUCCESS : errors[row_of(rc)].class;
}

static void say_once(int rc)
{
    static atomic_flag said[ERRORS];
    unsigned row = row_of(rc);

    if (!errors[row].text || atomic_flag_test_and_set(&said[row]))
        return;
    errno = -rc;
    if (errors[row].error)
        mgds_err("%s", errors[row].text);
    else
        mgds_err("%s: %m", errors[row].text);
}

/* Comm_call_errhandler, or that of a window or session. */
static void call_handler(enum mgds_call call, mgds_word of, int class)
{
    struct mgds_inside kept = mgds_frame_step_out();

    ((MGDS_FN(2) *)mgds_next(call, MGDS_FACE_PMPI))(of, (mgds_word) class);
    mgds_frame_step_in(&kept);
}

int mgds_mpi_raise(MPI_Comm comm, int class)
{
    struct mgds_hearer hearer = {MGDS_CALL_Comm_call_errhandler,
                                 (mgds_word)comm};

    if (class == MPI_SUCCESS)
        return MPI_SUCCESS;
    if (comm != MPI_COMM_NULL || mgds_untied_hearer(&hearer))
        call_handler(hearer.call, hearer.of, class);
    return class;
}

int mgds_mpi_error(MPI_Comm comm, int rc)
{
    int class = mgds_mpi_class(rc);

    if (class == MPI_SUCCESS)
        return MPI_SUCCESS;
    say_once(rc);
    return mgds_mpi_raise(comm, class);
}

int mgds_mpi_error_win(MPI_Win win, int rc)
{
    int class = mgds_mpi_class(rc);

    if (class == MPI_SUCCESS)
        return MPI_SUCCESS;
    say_once(rc);
    call_handler(MGDS_CALL_Win_call_errhandler, (mgds_word)win, class);
    return class;
}
