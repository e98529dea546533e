/* Dynamic connections: a DCT is a target that any DCI of the fabric may call
 * which has its number and its key, so a process needs one, however many peers
 * it has. It takes what needs no receive: WRITEs, READs and atomics. */
#ifndef MGDS_HCA_DCT_H
#define MGDS_HCA_DCT_H

#include <stdint.h>

#include "device/abi_wqe.h"
#include "shim/gds/hca/end.h"
#include "shim/gds/hca/refusal.h"

struct mgds_dct;
struct mgds_rail;

/* The rail outlives it. 0; or negative errno and why: DYNAMIC. */
int mgds_dct_create(struct mgds_dct **out, struct mgds_rail *rail, uint64_t key,
                    struct mgds_refusal *refusal);
void mgds_dct_destroy(struct mgds_dct *dct); /* NULL is allowed */

/* What DCIs are to be told of it, but for the key; it has no PSN. */
void mgds_dct_describe(const struct mgds_dct *dct, struct mgds_end_rail *out);

/* The address vector of WQEs of a DCI of this rail to a DCT there. 0; or
 * negative errno and why: DYNAMIC. */
int mgds_dct_address(struct mgds_wqe_av *out, const struct mgds_rail *rail,
                     const struct mgds_end_rail *there, uint64_t key,
                     struct mgds_refusal *refusal);

#endif
