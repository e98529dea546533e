/* The door to UCX: libucp.so.0, opened when first needed and never closed. It
 * may be the one that the MPI below has loaded: workers are apart. Only
 * shim/gds/wire includes this. */
#ifndef MGDS_GDS_WIRE_UCX_H
#define MGDS_GDS_WIRE_UCX_H

#include <ucp/api/ucp.h>

struct mgds_ucx {
#define X(name) __typeof__(name) *(name);
#include "shim/gds/wire/ucx.def"
#undef X
};

/* The table, or NULL: then one line has said why, once. Any thread. */
const struct mgds_ucx *mgds_ucx(void);

/* 0 for UCS_OK, else what comes nearest; -EIO if nothing does. */
int mgds_ucx_errno(ucs_status_t status);

#endif
