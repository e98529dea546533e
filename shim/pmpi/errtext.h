/*
 * Errors with values: error codes of MPI's that have a text of ours.
 *
 * A text has a code, added to its class in the MPI below (MPI_Add_error_code),
 * so MPI_Error_class knows it, as does whoever compares classes. The text
 * itself comes from our MPI_Error_string: MPICH 4.0.2 takes none for its own
 * classes. Codes are the program's, too, and the MPI below has few thousands:
 * so each class has at most MGDS_ERRTEXT_EACH of ours, all together
 * MGDS_ERRTEXT_MOST. The same text has the same code; a text more than that
 * takes the code that was given out longest ago, which from then on says the
 * newer text.
 *
 * Concurrency: any thread; a table under a lock (LEAF), never held across a
 * call of the MPI below.
 */
#ifndef MGDS_PMPI_ERRTEXT_H
#define MGDS_PMPI_ERRTEXT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdarg.h>

#include "shim/base/tls.h"

enum { MGDS_ERRTEXT_EACH = 12, MGDS_ERRTEXT_MOST = 252 };

/* The MPIX_ function that the thread is in, or NULL; of those of MPI the frame
 * knows (frame.h). Not while an error handler of the program's runs: that may
 * never come back. */
extern MGDS_TLS const char *mgds_errtext_function
    __attribute__((visibility("hidden")));

/* "MPIX_Send_enqueue: " and what the format says, cut to what an error string
 * of MPI's can have. */
void mgds_errtext_format(char text[MPI_MAX_ERROR_STRING], const char *format,
                         va_list args) __attribute__((format(printf, 2, 0)));

/* The code of the text; the class itself if it can have none. */
int mgds_errtext_code(int class, const char *text);

/* Whether the code is one of ours, and then its text. */
bool mgds_errtext_of(int code, char text[MPI_MAX_ERROR_STRING]);

/* The MPI below ends, and all codes with it. */
void mgds_errtext_fini(void);

#endif
