/*
 * Bodies that refuse GPU memory where it cannot be had yet: windows, one-sided
 * calls, and the buffer of buffered sends, which the MPI below writes to by
 * itself.
 */
#include <errno.h>
#include <mpi.h>

#include "shim/pmpi/buffer.h"
#include "shim/pmpi/call.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/own.h"

/* 0 if the buffer at these words may pass, else what to say of it. */
static int check(const struct mgds_call_words *call, unsigned at)
{
    struct mgds_buffer buffer;
    int rc = mgds_buffer_look(&buffer, (const void *)call->word[at],
                              mgds_call_count(call, at + 1),
                              (MPI_Datatype)call->word[at + 2]);

    if (rc == 1)
        mgds_buffer_put(&buffer);
    return rc == 1 ? -ENOSYS : rc;
}

static mgds_word forward_unless(const struct mgds_call_words *call, int rc,
                                unsigned win)
{
    if (rc < 0)
        return (mgds_word)mgds_mpi_error_win((MPI_Win)call->word[win], rc);
    return mgds_call_forward(call);
}

/* addr, count, type, rank, displacement, count, type[, op], win[, request] */
static mgds_word origin(struct mgds_call_words *call, unsigned win)
{
    return forward_unless(call, check(call, 0), win);
}

static mgds_word transfer(struct mgds_call_words *call)
{
    return origin(call, 7);
}

static mgds_word accumulate(struct mgds_call_words *call)
{
    return origin(call, 8);
}

MGDS_CALL_BODIES(Put, 8, transfer)
MGDS_CALL_BODIES(Get, 8, transfer)
MGDS_CALL_BODIES(Rput, 9, transfer)
MGDS_CALL_BODIES(Rget, 9, transfer)
MGDS_CALL_BODIES(Accumulate, 9, accumulate)
MGDS_CALL_BODIES(Raccumulate, 10, accumulate)

/* origin: three words; result: three; rank, displacement, count, type, op, win
 */
static mgds_word get_accumulate(struct mgds_call_words *call)
{
    int rc = check(call, 0);

    if (rc == 0)
        rc = check(call, 3);
    return forward_unless(call, rc, 11);
}

MGDS_CALL_BODIES(Get_accumulate, 12, get_accumulate)
MGDS_CALL_BODIES(Rget_accumulate, 13, get_accumulate)

static int check_one(mgds_word addr, mgds_word type)
{
    struct mgds_call_words call = {.word = {addr, 1, type}};

    return check(&call, 0);
}

mgds_word mgds_own_Fetch_and_op(MGDS_PARAMS_7)
{
    int rc = check_one(a, c);

    if (rc == 0)
        rc = check_one(b, c);
    if (rc < 0)
        return (mgds_word)mgds_mpi_error_win((MPI_Win)g, rc);
    return MGDS_FORWARD(7)(MGDS_ARGS_7);
}

mgds_word mgds_own_Compare_and_swap(MGDS_PARAMS_7)
{
    int rc = check_one(a, d);

    if (rc == 0)
        rc = check_one(b, d);
    if (rc == 0)
        rc = check_one(c, d);
    if (rc < 0)
        return (mgds_word)mgds_mpi_error_win((MPI_Win)g, rc);
    return MGDS_FORWARD(7)(MGDS_ARGS_7);
}

static int refusal(int looked)
{
    return looked == 1 ? -ENOSYS : looked;
}

/* addr, size, displacement unit, info, comm, win */
static mgds_word win_create(struct mgds_call_words *call)
{
    int rc = refusal(mgds_buffer_look_bytes((const void *)call->word[0],
                                            (MPI_Count)call->word[1]));

    if (rc < 0)
        return (mgds_word)mgds_mpi_error((MPI_Comm)call->word[4], rc);
    return mgds_call_forward(call);
}

MGDS_CALL_BODIES(Win_create, 6, win_create)

mgds_word mgds_own_Win_attach(mgds_word win, mgds_word addr, mgds_word size)
{
    int rc =
        refusal(mgds_buffer_look_bytes((const void *)addr, (MPI_Count)size));

    if (rc < 0)
        return (mgds_word)mgds_mpi_error_win((MPI_Win)win, rc);
    return MGDS_FORWARD(3)(win, addr, size);
}

/* The MPI below would write to it with the CPU. */
static mgds_word attach(mgds_word addr, MPI_Count size)
{
    int rc = mgds_buffer_look_bytes((const void *)addr, size);

    if (rc == 1)
        rc = -ENOTBLK;
    if (rc < 0)
        return (mgds_word)mgds_mpi_error(MPI_COMM_NULL, rc);
    return MGDS_FORWARD(2)(addr, (mgds_word)size);
}

mgds_word mgds_own_Buffer_attach(mgds_word addr, mgds_word size)
{
    return attach(addr, (int)size);
}

mgds_word mgds_own_Buffer_attach_c(mgds_word addr, mgds_word size)
{
    return attach(addr, (MPI_Count)size);
}
