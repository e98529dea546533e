/* How requests of gpu/direct.c are completed. */
#include "tests/mpi/gpu/direct_message.h"

/* MPI_ERR_IN_STATUS says more in the status. */
static int plain(int rc, const MPI_Status *status)
{
    return gpu_class(rc) == MPI_ERR_IN_STATUS ? status->MPI_ERROR : rc;
}

static int until_some(struct direct_end *end, enum end_form form)
{
    int indices[2], count = 0, rc = MPI_SUCCESS;
    MPI_Status statuses[2];

    while (count == 0 && rc == MPI_SUCCESS)
        rc = form == WAITSOME
                 ? MPI_Waitsome(2, end->request, &count, indices, statuses)
                 : MPI_Testsome(2, end->request, &count, indices, statuses);
    CHECK(count == 1 && indices[0] == 0);
    end->status = statuses[0];
    return plain(rc, &statuses[0]);
}

static int until_all(struct direct_end *end, enum end_form form)
{
    int flag = 0, rc = MPI_SUCCESS;
    MPI_Status statuses[2];

    if (form == WAITALL)
        rc = MPI_Waitall(2, end->request, statuses);
    while (form == TESTALL && !flag && rc == MPI_SUCCESS)
        rc = MPI_Testall(2, end->request, &flag, statuses);
    end->status = statuses[0];
    return plain(rc, &statuses[0]);
}

static int until_status(struct direct_end *end)
{
    int flag = 0, rc = MPI_SUCCESS;

    while (!flag && rc == MPI_SUCCESS)
        rc = MPI_Request_get_status(end->request[0], &flag, &end->early);
    end->asked = rc == MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(&end->request[0], &end->status);
    else
        MPI_Wait(&end->request[0], &end->status);
    return rc;
}

static int until_any(struct direct_end *end, enum end_form form)
{
    int flag = 0, index = -1, rc = MPI_SUCCESS;

    if (form == WAITANY)
        rc = MPI_Waitany(2, end->request, &index, &end->status);
    while (form == TESTANY && !flag && rc == MPI_SUCCESS)
        rc = MPI_Testany(2, end->request, &index, &flag, &end->status);
    CHECK(index == 0);
    return rc;
}

static int until_flag(struct direct_end *end)
{
    int flag = 0, rc = MPI_SUCCESS;

    while (!flag && rc == MPI_SUCCESS)
        rc = MPI_Test(&end->request[0], &flag, &end->status);
    return rc;
}

int direct_complete(struct direct_end *end, enum end_form form)
{
    switch (form) {
    case TEST:
        return until_flag(end);
    case WAITANY:
    case TESTANY:
        return until_any(end, form);
    case WAITALL:
    case TESTALL:
        return until_all(end, form);
    case WAITSOME:
    case TESTSOME:
        return until_some(end, form);
    case GET_STATUS:
        return until_status(end);
    default:
        return MPI_Wait(&end->request[0], &end->status);
    }
}

void direct_end_free(struct direct_end *end)
{
    if (end->request[0] != MPI_REQUEST_NULL)
        MPI_Request_free(&end->request[0]);
    direct_buffer_delete(&end->buffer);
}
