/* Why a work request fails, and all that follows from it: syndromes.def. */
#ifndef MGDS_SIM_HCA_CAUSE_H
#define MGDS_SIM_HCA_CAUSE_H

#include <stdint.h>

enum mgds_hca_cause {
    MGDS_CAUSE_NONE,
#define X(name, ...) MGDS_CAUSE_##name,
#include "sim/hca/syndromes.def"
#undef X
    MGDS_CAUSES
};

/* What a device tells about its objects, as ibverbs names it (IBV_EVENT_*). */
enum mgds_hca_event {
    MGDS_EVENT_NONE,
    MGDS_EVENT_CQ_ERR,
    MGDS_EVENT_QP_FATAL,
    MGDS_EVENT_QP_REQ_ERR,
    MGDS_EVENT_QP_ACCESS_ERR,
    MGDS_EVENT_SQ_DRAINED,
    MGDS_EVENT_SRQ_LIMIT,

    MGDS_EVENT_PORT_ERR,
    MGDS_EVENT_PORT_ACTIVE,
    MGDS_EVENT_LAST_WQE /* of a QP with an SRQ, in ERR: it takes none more */
};

/* Whose QP goes to ERR: the requester's always. */
enum mgds_hca_blame { MGDS_BLAME_REQUESTER, MGDS_BLAME_BOTH };

struct mgds_hca_verdict {
    const char *name;
    uint8_t syndrome; /* of the send's CQE */
    uint8_t vendor;
    uint8_t receive_syndrome; /* of the CQE of the receive it took, if any */
    uint8_t receive_vendor;
    enum mgds_hca_blame blame;
    enum mgds_hca_event event; /* BOTH: of the responder's QP */
    const char *source;
};

/* Any thread. */
const struct mgds_hca_verdict *mgds_hca_verdict(enum mgds_hca_cause cause);

#endif
