/* Targets of dynamic connections (DCTs). A DCI calls a target before its first
 * message to it, and each call that is taken makes a connection: a QP inside
 * the device, with a number of its own and the DCT's SRQ, CQ, rights and PD.
 *
 *   DCI            DCT                     connection
 *   call    --->   right key, no older
 *                  than its last one ----> made, in RTR
 *   requests --------------------------->  done in order; ERR after a wrong one
 *   call    --->   the caller's old one goes, a new one is made
 *
 * A DCT stays as it is whatever its connections do, and tells no event of
 * them. It has one of each caller at most, and CONNECTIONS together: then the
 * one that was called first goes, and its DCI finds nobody. */
#ifndef MGDS_SIM_HCA_DCT_H
#define MGDS_SIM_HCA_DCT_H

#include <stdint.h>

#include "sim/hca/cause.h"

struct mgds_hca_qp;

enum { MGDS_HCA_CONNECTIONS = 4096 };

struct mgds_hca_call {
    uint16_t lid;   /* of the caller's device; 0: on a wire without LIDs */
    uint32_t from;  /* its QPN */
    uint64_t key;   /* that it takes for the DCT's */
    uint64_t epoch; /* later calls of a device have larger ones */
    uint32_t psn;   /* of its first request */
};

/* *out: the connection that this call has or gets; or NULL without a cause, a
 * late copy of an older call or no memory: nobody answers that. */
enum mgds_hca_cause mgds_hca_dct_accept(struct mgds_hca_qp *dct,
                                        const struct mgds_hca_call *call,
                                        struct mgds_hca_qp **out);

/* The connection of a caller, or NULL. */
struct mgds_hca_qp *mgds_hca_dct_find(const struct mgds_hca_qp *dct,
                                      uint16_t lid, uint32_t from);

/* A connection ends: the receive that it had taken is flushed. */
void mgds_hca_dct_hang_up(struct mgds_hca_qp *connection);

/* All connections of a DCT end. */
void mgds_hca_dct_close(struct mgds_hca_qp *dct);

#endif
