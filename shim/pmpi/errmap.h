/*
 * What own bodies return that met an error: the only place where a negative
 * errno becomes an error of MPI's, and where error handlers are called. The
 * codes have texts of ours (errtext.h).
 *
 * Raising: the error handler of the communicator (or window) is told, which may
 * not return; so no lock may be held, and everything must be given back before.
 * MPI_COMM_NULL: the error is tied to no communicator (untied.h). Where the
 * handler is MPI_ERRORS_ARE_FATAL or MPI_ERRORS_ABORT the text is printed and
 * the job aborted here: MPI's own line would name a call that the program has
 * not made.
 */
#ifndef MGDS_PMPI_ERRMAP_H
#define MGDS_PMPI_ERRMAP_H

#include <mpi.h>

struct mgds_failure;

/* The MPI error class of a negative errno; MPI_SUCCESS for 0 and more. */
int mgds_mpi_class(int rc);

/* The code of an error of the class, whose text is as that of refuse, or of an
 * errno (MPI_SUCCESS for 0 and more). Nobody is told. */
int mgds_mpi_code(int class, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int mgds_mpi_code_of(int rc);

/* Raises an error of the class, whose text is the name of the program's call
 * and what the format says: which argument, its value, what it may be. The
 * code. */
int mgds_mpi_refuse(MPI_Comm comm, int class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of an argument that must not be NULL: MPI_ERR_ARG. */
int mgds_mpi_refuse_null(MPI_Comm comm, const char *argument);

/* Is it a communicator at all? MPI_SUCCESS, or the code that was raised. */
int mgds_mpi_check_comm(MPI_Comm comm);

/* MPI_SUCCESS for 0 and more; else says what is wrong in one line (once for
 * each errno), raises it, and returns the code. */
int mgds_mpi_error(MPI_Comm comm, int rc);
int mgds_mpi_error_win(MPI_Win win, int rc);

/* The code of what an operation of the engine met that was called earlier, and
 * the same raised; and raised for one that is called now. */
int mgds_mpi_failure(const struct mgds_failure *failure);
int mgds_mpi_raise_failure(MPI_Comm comm, const struct mgds_failure *failure);
int mgds_mpi_raise_own_failure(MPI_Comm comm,
                               const struct mgds_failure *failure);

/* Raises a code of MPI's, or of ours; MPI_SUCCESS raises nothing. */
int mgds_mpi_raise(MPI_Comm comm, int code);

#endif
