/* Rounds of a collective call. */
#include "tests/mpi/matrix/issue.h"

#define STARTS 3

void mgds_mx_steps_run(struct mgds_mx_case *c,
                       const struct mgds_mx_steps *steps, void *call,
                       enum mgds_mx_how how)
{
    int rounds = how == MGDS_MX_PERSISTENT ? STARTS : 1;
    MPI_Request request = MPI_REQUEST_NULL;
    int made = 1;

    if (rounds > 1)
        made = MGDS_MX(c, steps->issue(call, &request));
    for (int round = 0; made && round < rounds && !c->why[0]; round++) {
        steps->fill(call, round);
        if (rounds > 1)
            MGDS_MX(c, MPI_Start(&request));
        else
            MGDS_MX(c, steps->issue(call, &request));
        MGDS_MX(c, MPI_Wait(&request, MPI_STATUS_IGNORE));
        steps->check(call, round);
    }
    if (made && rounds > 1)
        MGDS_MX(c, MPI_Request_free(&request));
}
