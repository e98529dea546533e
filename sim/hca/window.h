/* Memory windows: keys that mean some of a region's memory for a while.
 *
 *   attach --> free --bind--> bound --invalidate, or a bind of nothing--> free
 *
 *   type   bound by a QP of its PD        others use it
 *   1      at any time                    through any QP of the PD
 *   2      when it is free                through the QP that bound it, which
 *                                         invalidates it; so does its peer,
 *                                         with SEND_INVAL
 *
 * Binds are WQEs of UMR, in the forms that libmlx5 has for them. A bind gives
 * the key another low byte: who has the old one has nothing. While a window is
 * free its low byte says nothing. Each access is checked in the window, and
 * then in the region as it is at that time. A window is no lkey. */
#ifndef MGDS_SIM_HCA_WINDOW_H
#define MGDS_SIM_HCA_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"
#include "sim/hca/cause.h"
#include "sim/hca/key.h"

struct mgds_hca;
struct mgds_hca_qp;

enum mgds_hca_window_type {
    MGDS_WINDOW_NONE, /* the key is a region's */
    MGDS_WINDOW_1,
    MGDS_WINDOW_2
};

/* The memory that a window means. */
struct mgds_hca_binding {
    uint64_t address; /* what others call its first byte */
    uint64_t bytes;   /* 0: it is free */
    uint32_t region;  /* key */
    uint64_t inside;  /* what the region calls that byte */
    uint8_t access;   /* key.h */
};

struct mgds_hca_window {
    enum mgds_hca_window_type type;
    uint32_t pd;
    uint32_t qpn; /* type 2: that bound it */
    struct mgds_hca_binding to;
};

/* The bind that a WQE of UMR asks for. */
struct mgds_hca_bind {
    enum mgds_hca_window_type type;
    uint32_t key;    /* as it is */
    uint8_t variant; /* its low byte from now on */
    struct mgds_hca_binding to;
};

/* Takes the segments of a WQE of UMR apart; `memory` is all zero if there is
 * none. MGDS_CAUSE_WQE_UMR: libmlx5 binds no window like that. */
enum mgds_hca_cause mgds_hca_bind_decode(const struct mgds_hca_qp *qp,
                                         const struct mgds_wqe_umr *umr,
                                         const struct mgds_wqe_mkey *mkey,
                                         const struct mgds_wqe_data *memory,
                                         struct mgds_hca_bind *bind);

/* Does it, or changes nothing. */
enum mgds_hca_cause mgds_hca_window_bind(const struct mgds_hca_qp *qp,
                                         const struct mgds_hca_bind *bind);

/* The peer of this QP invalidates a key. */
enum mgds_hca_cause mgds_hca_window_invalidate(const struct mgds_hca_qp *qp,
                                               uint32_t key);

/* An access by a window's key, for key.h. */
enum mgds_hca_fault mgds_hca_window_find(const struct mgds_hca *hca,
                                         const struct mgds_hca_window *window,
                                         const struct mgds_hca_span *span,
                                         void **at);

#endif
