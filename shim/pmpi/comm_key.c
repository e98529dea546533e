/* The keyval of an attribute of communicators; see comm_key.h. */
#include "shim/pmpi/comm_key.h"

#include "shim/pmpi/next.h"

static void free_keyval(int keyval)
{
    MGDS_NEXT(Comm_free_keyval, 1)((mgds_word)&keyval);
}

/* No lock is held in MPI: of threads that come at once one's is kept. */
int mgds_comm_key_of(mgds_comm_key *key, MPI_Comm_delete_attr_function *goes)
{
    int known = atomic_load(key);
    int mine = MPI_KEYVAL_INVALID;

    if (known != MPI_KEYVAL_INVALID ||
        (int)MGDS_NEXT(Comm_create_keyval, 4)((mgds_word)MPI_COMM_NULL_COPY_FN,
                                              (mgds_word)goes, (mgds_word)&mine,
                                              0) != MPI_SUCCESS)
        return known;
    if (atomic_compare_exchange_strong(key, &known, mine))
        return mine;
    free_keyval(mine);
    return known;
}

void mgds_comm_key_forget(mgds_comm_key *key)
{
    int known = atomic_exchange(key, MPI_KEYVAL_INVALID);

    if (known != MPI_KEYVAL_INVALID)
        free_keyval(known);
}
