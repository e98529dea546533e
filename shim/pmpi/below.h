/*
 * Functions of the MPI below that are not in mpi_table.def, because we do not
 * stand in front of them: found by name when first needed. All are PMPI_.
 */
#ifndef MGDS_PMPI_BELOW_H
#define MGDS_PMPI_BELOW_H

#include <mpi.h>
#include <stdbool.h>

/* X(type, name, parameters) */
#define MGDS_BELOW_CALLS(X)                                                    \
    X(int, Type_get_envelope,                                                  \
      (MPI_Datatype type, int *ints, int *addresses, int *types,               \
       int *combiner))                                                         \
    X(int, Type_get_contents,                                                  \
      (MPI_Datatype type, int max_ints, int max_addresses, int max_types,      \
       int ints[], MPI_Aint addresses[], MPI_Datatype types[]))                \
    X(int, Type_get_envelope_c,                                                \
      (MPI_Datatype type, MPI_Count * ints, MPI_Count * addresses,             \
       MPI_Count * counts, MPI_Count * types, int *combiner))                  \
    X(int, Type_get_contents_c,                                                \
      (MPI_Datatype type, MPI_Count max_ints, MPI_Count max_addresses,         \
       MPI_Count max_counts, MPI_Count max_types, int ints[],                  \
       MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[]))        \
    X(int, Type_size_x, (MPI_Datatype type, MPI_Count * size))                 \
    X(int, Type_get_extent_x,                                                  \
      (MPI_Datatype type, MPI_Count * lb, MPI_Count * extent))                 \
    X(int, Group_free, (MPI_Group * group))                                    \
    X(int, Group_incl,                                                         \
      (MPI_Group group, int count, const int ranks[], MPI_Group *out))         \
    X(int, Group_translate_ranks,                                              \
      (MPI_Group group, int count, const int ranks[], MPI_Group other,         \
       int others[]))                                                          \
    X(int, Pack_size,                                                          \
      (int count, MPI_Datatype type, MPI_Comm comm, int *bytes))               \
    X(int, Type_free, (MPI_Datatype * type))                                   \
    X(int, Type_create_keyval,                                                 \
      (MPI_Type_copy_attr_function * copy,                                     \
       MPI_Type_delete_attr_function * del, int *keyval, void *extra))         \
    X(int, Type_free_keyval, (int *keyval))                                    \
    X(int, Type_set_attr, (MPI_Datatype type, int keyval, void *value))        \
    X(int, Get_elements_x,                                                     \
      (const MPI_Status *status, MPI_Datatype type, MPI_Count *count))         \
    X(int, Info_get,                                                           \
      (MPI_Info info, const char *key, int length, char *value, int *flag))    \
    X(int, Info_set, (MPI_Info info, const char *key, const char *value))      \
    X(int, Error_class, (int code, int *error_class))                          \
    X(int, Add_error_code, (int error_class, int *code))

struct mgds_below {
#define X(type, name, params) type(*name) params;
    MGDS_BELOW_CALLS(X)
#undef X
    /* NULL where the MPI below has no such extension. */
    int (*Grequest_start_extended)(MPI_Grequest_query_function *query,
                                   MPI_Grequest_free_function *free,
                                   MPI_Grequest_cancel_function *cancel,
                                   MPIX_Grequest_poll_function *poll,
                                   MPIX_Grequest_wait_function *wait,
                                   void *state, MPI_Request *request);
    int (*Query_cuda_support)(void);
    int (*GPU_query_support)(int kind, int *yes);
};

/* The table; large-count functions are NULL below an MPI older than 4.0, the
 * others are there. Any thread, once an own body runs. */
const struct mgds_below *mgds_below(void);

/* The world model begins, or is about to end: in between MPI_COMM_SELF is
 * valid. Any thread. */
void mgds_below_set_world(bool open);

/* Lets it make progress, inside a call of the application; outside of the
 * world model it does nothing. */
void mgds_below_progress(void);

/* The same by a communicator on which nobody sends through the MPI below. */
void mgds_below_progress_on(MPI_Comm comm);

/* Bytes that a status says were received. */
MPI_Count mgds_below_bytes(const MPI_Status *status);

/* Makes it say so many, of a message that we have received. */
void mgds_below_set_bytes(MPI_Status *status, MPI_Count bytes);

bool mgds_below_was_cancelled(const MPI_Status *status);

/* Did a receive that ended with this error code bring data, if perhaps not
 * all that was sent? */
bool mgds_below_has_data(int error);

#endif
