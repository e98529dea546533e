/*
 * Datatypes of the matrix, each with the places of its bytes stated apart from
 * MPI, so that buffers are filled and checked without asking the code under
 * test. Touches MPI's datatype calls only.
 */
#ifndef MGDS_MATRIX_TYPES_H
#define MGDS_MATRIX_TYPES_H

#include <mpi.h>
#include <stddef.h>

enum mgds_mx_type_kind {
    MGDS_MX_CONTIGUOUS,
    MGDS_MX_VECTOR,
    MGDS_MX_INDEXED,
    MGDS_MX_STRUCT,
    MGDS_MX_RESIZED,
    MGDS_MX_SUBARRAY,
    MGDS_MX_NESTED,
    MGDS_MX_PAIR,
    MGDS_MX_TYPE_KINDS,
};

#define MGDS_MX_SPANS_MAX 64

struct mgds_mx_span {
    ptrdiff_t offset;
    size_t bytes;
};

/* One element; spans in the order in which the type names its bytes. */
struct mgds_mx_type {
    enum mgds_mx_type_kind kind;
    MPI_Datatype mpi;
    int owned;        /* to be freed */
    size_t data;      /* bytes of an element that travel */
    ptrdiff_t extent; /* from one element to the next */
    ptrdiff_t low;    /* first and one past the last byte */
    ptrdiff_t high;
    int spans;
    struct mgds_mx_span span[MGDS_MX_SPANS_MAX];
};

const char *mgds_mx_type_name(enum mgds_mx_type_kind kind);

/*
 * A type whose elements carry `bytes` (any number for contiguous, powers of
 * two for the others) together; sets *count to how many elements that is. A
 * pair carries 6 bytes: as many elements as fit, none below 8 bytes.
 */
void mgds_mx_type_init(struct mgds_mx_type *type, enum mgds_mx_type_kind kind,
                       size_t bytes, size_t *count);
/* MPI_BYTE itself, as predefined operations need it. */
void mgds_mx_type_bytes(struct mgds_mx_type *type, size_t bytes, size_t *count);
void mgds_mx_type_fini(struct mgds_mx_type *type);

#endif
