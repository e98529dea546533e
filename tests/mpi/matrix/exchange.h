/* One message to the next rank and one from the rank before. */
#ifndef MGDS_MATRIX_EXCHANGE_H
#define MGDS_MATRIX_EXCHANGE_H

#include "tests/mpi/matrix/case.h"

/* Of every message. */
#define MGDS_MX_TAG 77

struct mgds_mx_exchange {
    struct mgds_mx_type type;
    size_t count; /* elements of a message */
    size_t room;  /* elements a receive may take */
    int from;
    int to;
    struct mgds_mx_buffer send; /* of the first kind */
    struct mgds_mx_buffer recv; /* of the second */
    unsigned char *packed;      /* one message */
};

/*
 * Fills the send buffer with the message of round 0, poisons the receive
 * buffer, which has room for `extra` more messages. Returns 0, or -ENOMEM
 * with the failure noted.
 */
int mgds_mx_exchange_init(struct mgds_mx_exchange *x, struct mgds_mx_case *c,
                          int extra);
void mgds_mx_exchange_fini(struct mgds_mx_exchange *x);

/* New data for another round, the receive buffer poisoned again. */
void mgds_mx_exchange_refill(struct mgds_mx_case *c, struct mgds_mx_exchange *x,
                             int round);

/* The message of that round has come, nothing else was touched. */
void mgds_mx_exchange_check(struct mgds_mx_case *c, struct mgds_mx_exchange *x,
                            int round);

/* Elements, source and tag are those of the message. */
void mgds_mx_exchange_status(struct mgds_mx_case *c,
                             const struct mgds_mx_exchange *x,
                             MPI_Status *status);

#endif
