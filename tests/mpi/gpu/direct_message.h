/*
 * The two ends of a message of gpu/direct.c. Buffers are made, looked at and
 * freed by the main thread; what lies between may be another thread's.
 */
#ifndef MGDS_TESTS_GPU_DIRECT_MESSAGE_H
#define MGDS_TESTS_GPU_DIRECT_MESSAGE_H

#include "tests/mpi/gpu/direct_plan.h"

/* A buffer of a plan, and what its data bytes are to MPI. */
struct direct_buffer {
    struct mgds_test_memory memory;
    char *host; /* what is in it, as the CPU sees it */
    size_t bytes, data;
    enum shape shape;
    MPI_Datatype type;
    int count;
};

/* All 0xee, "untouched", until it is filled, and when it is cleared. */
void direct_buffer_make(struct direct_buffer *buffer, enum mgds_test_kind kind,
                        int device, enum shape shape, size_t data);
void direct_buffer_clear(struct direct_buffer *buffer);
void direct_buffer_fill(struct direct_buffer *buffer, int seed);
/* So many bytes are data of this seed, and all else is as it was. */
void direct_buffer_see(struct direct_buffer *buffer, size_t data, int seed);
/* Nothing was written beyond the first so many data bytes. */
void direct_buffer_see_around(struct direct_buffer *buffer, size_t data);
void direct_buffer_delete(struct direct_buffer *buffer);

struct direct_end {
    const struct plan *plan;
    MPI_Comm comm;
    int peer; /* in comm */
    int seed;
    struct direct_buffer buffer;
    MPI_Request request[2];   /* the second is never one */
    MPI_Status status, early; /* the latter of MPI_Request_get_status */
    bool asked;               /* for it */
    int rc;
};

/* Partitions of a message have as many elements each. */
int direct_partitions(const struct direct_buffer *buffer);

/* Waits for the request in that way: the code that MPI gives the operation. */
int direct_complete(struct direct_end *end, enum end_form form);

/* The sender: of each lap fill, start, complete and check. */
void direct_send_make(struct direct_end *end);
void direct_send_fill(struct direct_end *end);
void direct_send_start(struct direct_end *end);
void direct_send_complete(struct direct_end *end);
void direct_send_check(struct direct_end *end);

/* The receiver: an immediate receive may be posted ahead of the rest. */
void direct_recv_make(struct direct_end *end);
void direct_recv_clear(struct direct_end *end);
void direct_recv_post(struct direct_end *end);
void direct_recv_start(struct direct_end *end);
void direct_recv_complete(struct direct_end *end);
void direct_recv_check(struct direct_end *end);

/* After the last lap. */
void direct_end_free(struct direct_end *end);

/* Both ends of a rank by one call. */
void direct_exchange(struct direct_end *out, struct direct_end *in);

#endif
