/*
 * A buffer under test: memory of some kind with guards on both sides, and an
 * image of what must be in it. Every byte is compared: data, the gaps of the
 * datatype, elements between and behind messages, guards.
 */
#ifndef MGDS_MATRIX_BUFFER_H
#define MGDS_MATRIX_BUFFER_H

#include <stdint.h>

#include "tests/lib/gpu.h"
#include "tests/mpi/matrix/types.h"

struct mgds_mx_buffer {
    const char *name; /* in messages: "send buffer" */
    const struct mgds_mx_type *type;
    struct mgds_test_memory memory;
    size_t elements;
    size_t bytes;
    size_t origin; /* of element 0 in the memory */
    char *user;    /* what MPI is given */
    unsigned char *image;
};

/* Room for `elements` of type, all poisoned. Returns 0 or -ENOMEM (said on
 * stderr); undone by fini. */
int mgds_mx_buffer_init(struct mgds_mx_buffer *buffer, const char *name,
                        enum mgds_test_kind kind,
                        const struct mgds_mx_type *type, size_t elements);
void mgds_mx_buffer_fini(struct mgds_mx_buffer *buffer);

/* Poisons the image anew. */
void mgds_mx_buffer_poison(struct mgds_mx_buffer *buffer);

/* Packed bytes into the image, from element `first` on, `bytes` of them, the
 * last element perhaps in part. */
void mgds_mx_buffer_place(struct mgds_mx_buffer *buffer, size_t first,
                          const unsigned char *packed, size_t bytes);

/* The image into the memory; complete on return. */
void mgds_mx_buffer_upload(struct mgds_mx_buffer *buffer);

/* 0 if the memory is the image, else 1, with one line in why. */
int mgds_mx_buffer_check(const struct mgds_mx_buffer *buffer, char why[256]);

/* Copies bytes of the memory into the image where MPI leaves contents open. */
void mgds_mx_buffer_forgive(struct mgds_mx_buffer *buffer, size_t first,
                            size_t elements);

#endif
