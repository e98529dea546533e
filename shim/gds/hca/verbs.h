/* The door to rdma-core: libibverbs.so.1 and libmlx5.so.1, opened when first
 * needed and never closed. The MPI below may have them loaded, too: devices are
 * opened apart. Only shim/gds/hca includes this.
 *
 * Some of the functions are macros in their headers: a call through the table
 * puts the name into parentheses, as (verbs->ibv_reg_mr)(...). */
#ifndef MGDS_HCA_VERBS_H
#define MGDS_HCA_VERBS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "shim/gds/hca/refusal.h"

struct mgds_verbs {
#define X(library, name, need) __typeof__(name) *(name);
#include "shim/gds/hca/verbs.def"
#undef X
};

/* The table, or NULL and why: NO_VERBS, NO_MLX5, OLD_VERBS. Any thread; the
 * libraries are looked for once. */
const struct mgds_verbs *mgds_verbs(struct mgds_refusal *refusal);

/* Fills a table from libraries of these names. 0, or negative errno as above;
 * then nothing of the table counts. */
int mgds_verbs_find(struct mgds_verbs *verbs, const char *verbs_library,
                    const char *mlx5_library, struct mgds_refusal *refusal);

#endif
