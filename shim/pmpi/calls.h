/*
 * What mpi_table.def says, as an enum and an array: the ids by which the rest
 * of pmpi/ knows the intercepted functions, and what is said of each.
 */
#ifndef MGDS_PMPI_CALLS_H
#define MGDS_PMPI_CALLS_H

/* A row of the table with a large-count twin is two functions. */
#define MGDS_CALL_C(name, n, family, mode)                                     \
    MGDS_CALL(name, n, family, mode)                                           \
    MGDS_CALL(name##_c, n, family, mode)

enum mgds_call {
#define MGDS_CALL(name, n, family, mode) MGDS_CALL_##name,
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
    MGDS_CALLS
};

/* Every function has two entries, and two definitions further down. */
enum mgds_face { MGDS_FACE_MPI, MGDS_FACE_PMPI, MGDS_FACES };

enum mgds_family {
    MGDS_FAMILY_INIT,
    MGDS_FAMILY_P2P,
    MGDS_FAMILY_PROBE,
    MGDS_FAMILY_PART,
    MGDS_FAMILY_COMPLETION,
    MGDS_FAMILY_COLL,
    MGDS_FAMILY_RMA,
    MGDS_FAMILY_WIN,
    MGDS_FAMILY_COMM,
    MGDS_FAMILY_ERROR,
    MGDS_FAMILIES
};

enum mgds_mode {
    MGDS_MODE_PASS,
    MGDS_MODE_REFUSE,
    MGDS_MODE_GPU,
    MGDS_MODE_STREAM,
    MGDS_MODE_OWN
};

struct mgds_call_row {
    const char *name; /* with the MPI_ prefix; skip it for counters */
    unsigned char arguments;
    unsigned char family;
    unsigned char mode;
};

extern const struct mgds_call_row mgds_call_rows[MGDS_CALLS];

/* Is the body of this function there for GPU memory: used with CUDA alone? */
static inline int mgds_call_serves_gpu(enum mgds_call call)
{
    return mgds_call_rows[call].mode == MGDS_MODE_GPU ||
           mgds_call_rows[call].mode == MGDS_MODE_REFUSE;
}

/* Does the body of this function serve stream communicators? Those of
 * point-to-point and completion do, which also serve GPU memory. */
static inline int mgds_call_serves_streams(enum mgds_call call)
{
    const struct mgds_call_row *row = &mgds_call_rows[call];

    return row->mode == MGDS_MODE_STREAM ||
           (row->mode == MGDS_MODE_GPU &&
            (row->family == MGDS_FAMILY_P2P ||
             row->family == MGDS_FAMILY_PART ||
             row->family == MGDS_FAMILY_COMPLETION));
}

/* Is it given requests that were begun before? */
static inline int mgds_call_completes(enum mgds_call call)
{
    const struct mgds_call_row *row = &mgds_call_rows[call];

    return row->family == MGDS_FAMILY_COMPLETION && row->mode != MGDS_MODE_PASS;
}

/* May it receive, find or complete a message that is a header (direct.h)? */
static inline int mgds_call_meets_headers(enum mgds_call call)
{
    const struct mgds_call_row *row = &mgds_call_rows[call];

    return row->family == MGDS_FAMILY_PROBE || mgds_call_completes(call) ||
           (row->mode == MGDS_MODE_GPU && (row->family == MGDS_FAMILY_P2P ||
                                           row->family == MGDS_FAMILY_PART));
}

/* The title of a family, as the standard's chapters call it. */
const char *mgds_family_title(enum mgds_family family);

#endif
