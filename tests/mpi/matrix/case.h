/*
 * One case of the matrix and what its call needs. A case is named
 * CALL/KIND/KIND/DATATYPE/BYTES/RANKS, "Isend/device/host/vector/4096/2": the
 * kinds are those of the two ends (sender and receiver; send and receive buffer
 * of a collective, the other way round on odd ranks; root and others).
 */
#ifndef MGDS_MATRIX_CASE_H
#define MGDS_MATRIX_CASE_H

#include "tests/mpi/matrix/buffer.h"

#define MGDS_MX_WHY 512

struct mgds_mx_case;

/* A call: how it is made and checked. */
struct mgds_mx_call {
    const char *name;
    void (*run)(struct mgds_mx_case *c);
    int arg[3]; /* run's own */
};

struct mgds_mx_case {
    const struct mgds_mx_call *call;
    enum mgds_test_kind kind[2];
    enum mgds_mx_type_kind type_kind;
    size_t bytes;
    int ranks;
    /* of the run */
    MPI_Comm comm; /* errors return; a fresh one for each batch of cases */
    int rank;
    uint64_t seed;         /* same on all ranks, another in each case */
    char why[MGDS_MX_WHY]; /* first failure on this rank; "" none */
};

/* Fills c from its name. Returns 0, or 1 with one line in why. */
int mgds_mx_case_parse(struct mgds_mx_case *c, const char *name, char why[256]);

/* Every call, ended by a row without name. */
extern const struct mgds_mx_call mgds_mx_p2p_calls[];
extern const struct mgds_mx_call mgds_mx_persistent_calls[];
extern const struct mgds_mx_call mgds_mx_coll_calls[];
extern const struct mgds_mx_call mgds_mx_reduce_calls[];
extern const struct mgds_mx_call mgds_mx_edge_calls[];
extern const struct mgds_mx_call mgds_mx_window_calls[];
extern const struct mgds_mx_call *const mgds_mx_tables[];

/* Notes a failure of this rank; the first one is kept. */
__attribute__((format(printf, 2, 3))) void
mgds_mx_fail(struct mgds_mx_case *c, const char *format, ...);

/* An MPI call that must return MPI_SUCCESS; says which did not. */
#define MGDS_MX(c, call) mgds_mx_success((c), (call), #call)
int mgds_mx_success(struct mgds_mx_case *c, int rc, const char *call);

/* Fails unless the buffer is its image. */
void mgds_mx_expect(struct mgds_mx_case *c, const struct mgds_mx_buffer *b);

/* What rank `from` sends to rank `to`, of one round: `bytes` in packed. */
void mgds_mx_stream(const struct mgds_mx_case *c, int from, int to, int round,
                    unsigned char *packed, size_t bytes);

/* malloc that ends the process with a line. */
void *mgds_mx_alloc(size_t bytes);

#endif
