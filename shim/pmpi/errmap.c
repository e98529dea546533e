/* Errors of own bodies; see errmap.h. */
#include "shim/pmpi/errmap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/trace_file.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/errtext.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/self.h"
#include "shim/pmpi/untied.h"

/* ENOSYS and ENOTBLK stand for what no other layer reports. */
static const struct {
    int error;
    int class;
    bool line; /* nobody has said it where it was met */
    const char *text;
} errors[] = {
    {EFAULT, MPI_ERR_BUFFER, true,
     "a buffer in GPU memory was freed, or is too small for its count and "
     "datatype: keep it until the call that uses it is complete"},
    {ENOMEM, MPI_ERR_NO_MEM, true,
     "out of memory for the host copy of a GPU buffer: use smaller messages, "
     "or fewer at a time"},
    {ESHUTDOWN, MPI_ERR_OTHER, true,
     "the CUDA context of a buffer was destroyed or reset while MPI used it"},
    {EIO, MPI_ERR_OTHER, true,
     "the GPU reports an error (perhaps of a kernel of this program), so a "
     "buffer in its memory cannot be copied"},
    {EOVERFLOW, MPI_ERR_COUNT, true,
     "a buffer in GPU memory is larger than 64 bits can say"},
    {ENOTSUP, MPI_ERR_TYPE, true,
     "a datatype that cannot be taken apart was used with GPU memory"},
    {ENOSYS, MPI_ERR_UNSUPPORTED_OPERATION, true,
     "GPU memory cannot be used in one-sided communication yet: give the "
     "window and its calls host memory"},
    {ENOTBLK, MPI_ERR_BUFFER, true,
     "MPI_Buffer_attach was given GPU memory, into which the MPI library would "
     "copy by itself: attach host memory; messages may still be in GPU memory"},
    /* Of stream communicators. */
    {EMSGSIZE, MPI_ERR_TRUNCATE, false,
     "a message was truncated: it is longer than its receive"},
    {EBADMSG, MPI_ERR_TRUNCATE, false,
     "a message ends inside an element of its receive's datatype"},
    {EBUSY, MPI_ERR_UNSUPPORTED_OPERATION, false,
     "the stream is being captured into a graph: make the call outside of the "
     "capture"},
    {ECANCELED, MPI_ERR_OTHER, false,
     "its stream cannot be used any more: an earlier error has ended it"},
    {ENOTCONN, MPI_ERR_OTHER, false,
     "the process of a peer has ended, or cannot be reached any more"},
    {ECONNRESET, MPI_ERR_OTHER, false,
     "a message was lost when the InfiniBand connection to its rank broke"},
    {ENODEV, MPI_ERR_OTHER, false,
     "no GPU can be used in this process: mpix-gds-doctor says why"},
    {ETIMEDOUT, MPI_ERR_OTHER, false,
     "a wait on a stream has taken longer than MPIX_GDS_TIMEOUT says"},
    {EREMOTEIO, MPI_ERR_OTHER, false,
     "another member of the communicator could not do its part: its error says "
     "why"},
    {EXDEV, MPI_ERR_BUFFER, false,
     "a buffer is in the memory of a GPU that its stream does not reach"},
    {EPERM, MPI_ERR_OTHER, false,
     "the per-thread stream is used in another thread than the one that made "
     "it "
     "an MPIX_Stream, where it is another stream"},
    /* Last: for all others. */
    {0, MPI_ERR_OTHER, true, "a buffer in GPU memory cannot be copied"},
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

    if (!errors[row].line || atomic_flag_test_and_set(&said[row]))
        return;
    errno = -rc;
    if (errors[row].error)
        mgds_err("%s", errors[row].text);
    else
        mgds_err("%s: %m", errors[row].text);
}

/* Codes. */

static int code_of(int class, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static int code_of(int class, const char *format, va_list args)
{
    char text[MPI_MAX_ERROR_STRING];

    mgds_errtext_format(text, format, args);
    return mgds_errtext_code(class, text);
}

int mgds_mpi_code(int class, const char *format, ...)
{
    va_list args;
    int code;

    va_start(args, format);
    code = code_of(class, format, args);
    va_end(args);
    return code;
}

int mgds_mpi_code_of(int rc)
{
    unsigned row = row_of(rc);

    if (rc >= 0)
        return MPI_SUCCESS;
    errno = -rc;
    if (errors[row].error)
        return mgds_mpi_code(errors[row].class, "%s", errors[row].text);
    return mgds_mpi_code(errors[row].class, "%s: %m", errors[row].text);
}

#define EARLIER "earlier, "

static int code_of_failure(const struct mgds_failure *failure, const char *when)
{
    if (failure->error >= 0 || failure->text[0] == '\0')
        return mgds_mpi_code_of(failure->error);
    return mgds_mpi_code(mgds_mpi_class(failure->error), "%s%s", when,
                         failure->text);
}

int mgds_mpi_failure(const struct mgds_failure *failure)
{
    return code_of_failure(failure, EARLIER);
}

/* Handlers. */

/* The call that asks for the handler which this one calls. */
static enum mgds_call asks_for(enum mgds_call call)
{
    switch (call) {
    case MGDS_CALL_Win_call_errhandler:
        return MGDS_CALL_Win_get_errhandler;
    case MGDS_CALL_Session_call_errhandler:
        return MGDS_CALL_Session_get_errhandler;
    default:
        return MGDS_CALL_Comm_get_errhandler;
    }
}

/* MPI's own handlers are no objects that have to be given back. */
static bool is_own(MPI_Errhandler handler)
{
    return (unsigned)handler >> 30 == 1;
}

static MPI_Errhandler handler_of(const struct mgds_hearer *hearer)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, copy;

    ((MGDS_FN(2) *)mgds_next(asks_for(hearer->call), MGDS_FACE_PMPI))(
        hearer->of, (mgds_word)&handler);
    copy = handler;
    if (copy != MPI_ERRHANDLER_NULL && !is_own(copy))
        MGDS_NEXT(Errhandler_free, 1)((mgds_word)&copy);
    return handler;
}

/* Only the communicator's processes, where MPI says that; all, elsewhere.
 * Without the world only MPI itself can end the job. */
static void end_job(const struct mgds_hearer *hearer, MPI_Errhandler handler,
                    int code, const char *text)
{
    bool all = handler == MPI_ERRORS_ARE_FATAL ||
               hearer->call != MGDS_CALL_Comm_call_errhandler;
    int class = MPI_ERR_OTHER;

    mgds_log_say("fatal: %s (%s)", text,
                 handler == MPI_ERRORS_ABORT ? "MPI_ERRORS_ABORT"
                                             : "MPI_ERRORS_ARE_FATAL");
    mgds_log_settle();
    mgds_trace_close();
    mgds_below()->Error_class(code, &class);
    if (mgds_has_world())
        MGDS_NEXT(Abort, 2)
    (all ? (mgds_word)MPI_COMM_WORLD : hearer->of, (mgds_word) class);
}

/* The program's: whatever it does inside is its own. */
static void call_handler(const struct mgds_hearer *hearer, int code)
{
    const char *function = mgds_errtext_function;
    struct mgds_inside kept = mgds_frame_step_out();

    mgds_errtext_function = NULL;
    ((MGDS_FN(2) *)mgds_next(hearer->call, MGDS_FACE_PMPI))(hearer->of,
                                                            (mgds_word)code);
    mgds_errtext_function = function;
    mgds_frame_step_in(&kept);
}

static void tell(const struct mgds_hearer *hearer, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler handler = handler_of(hearer);

    if ((handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT) &&
        mgds_errtext_of(code, text))
        end_job(hearer, handler, code, text);
    call_handler(hearer, code);
}

int mgds_mpi_raise(MPI_Comm comm, int code)
{
    struct mgds_hearer hearer = {MGDS_CALL_Comm_call_errhandler,
                                 (mgds_word)comm};

    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    if (comm != MPI_COMM_NULL || mgds_untied_hearer(&hearer))
        tell(&hearer, code);
    return code;
}

int mgds_mpi_refuse(MPI_Comm comm, int class, const char *format, ...)
{
    va_list args;
    int code;

    va_start(args, format);
    code = code_of(class, format, args);
    va_end(args);
    return mgds_mpi_raise(comm, code);
}

int mgds_mpi_refuse_null(MPI_Comm comm, const char *argument)
{
    return mgds_mpi_refuse(comm, MPI_ERR_ARG, "%s is NULL", argument);
}

/* As MPICH makes handles: what they are of, and whether they are of one. */
static bool looks_like_comm(MPI_Comm comm)
{
    unsigned handle = (unsigned)comm;

    return handle >> 30 != 0 && (handle >> 26 & 0xf) == 1;
}

int mgds_mpi_check_comm(MPI_Comm comm)
{
    int size;

    if (comm == MPI_COMM_NULL)
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_COMM,
                               "comm is MPI_COMM_NULL");
    if (!looks_like_comm(comm))
        return mgds_mpi_refuse(MPI_COMM_NULL, MPI_ERR_COMM,
                               "comm is 0x%08x, which is no communicator",
                               (unsigned)comm);
    return (int)MGDS_NEXT(Comm_size, 2)((mgds_word)comm, (mgds_word)&size);
}

static int raise_failure(MPI_Comm comm, const struct mgds_failure *failure,
                         const char *when)
{
    if (failure->error < 0)
        say_once(failure->error);
    return mgds_mpi_raise(comm, code_of_failure(failure, when));
}

int mgds_mpi_raise_failure(MPI_Comm comm, const struct mgds_failure *failure)
{
    return raise_failure(comm, failure, EARLIER);
}

int mgds_mpi_raise_own_failure(MPI_Comm comm,
                               const struct mgds_failure *failure)
{
    return raise_failure(comm, failure, "");
}

int mgds_mpi_error(MPI_Comm comm, int rc)
{
    if (rc >= 0)
        return MPI_SUCCESS;
    say_once(rc);
    return mgds_mpi_raise(comm, mgds_mpi_code_of(rc));
}

int mgds_mpi_error_win(MPI_Win win, int rc)
{
    const struct mgds_hearer hearer = {MGDS_CALL_Win_call_errhandler,
                                       (mgds_word)win};
    int code;

    if (rc >= 0)
        return MPI_SUCCESS;
    say_once(rc);
    code = mgds_mpi_code_of(rc);
    tell(&hearer, code);
    return code;
}
