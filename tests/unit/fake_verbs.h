/* A table of rdma-core's functions that answers by script, without libraries
 * and devices: one device, fake_0, with one port. */
#ifndef MGDS_TEST_FAKE_VERBS_H
#define MGDS_TEST_FAKE_VERBS_H

#include <stdbool.h>

#include "shim/gds/hca/port.h"
#include "shim/gds/hca/rail_state.h"

enum {
    FAKE_GIDS = 4,
    FAKE_PKEYS = 3,
    FAKE_STATES = 3,
    FAKE_BLOCKS = 64,
    FAKE_EVENTS = 8,
    FAKE_QPN = 0x77
};

struct fake_verbs {
    const char *fails; /* the function that fails; NULL: none */
    int error;         /* with this errno */

    /* the port */
    struct ibv_port_attr port;
    uint16_t pkeys[FAKE_PKEYS];
    struct ibv_gid_entry gids[FAKE_GIDS];

    /* what mlx5dv_init_obj tells */
    struct mlx5dv_qp queue;
    struct mlx5dv_cq cq;

    /* events that come, one after the other, of port or QP 0x77 */
    enum ibv_event_type events[FAKE_EVENTS];
    unsigned event_count, events_told, events_acked;
    uint8_t event_port;

    /* what was asked for */
    unsigned live; /* objects that are there */
    struct ibv_qp_attr states[FAKE_STATES];
    unsigned changes; /* of the QP's state */
    int access;       /* of the last region */
    uint64_t offset;  /* and in the dma-buf */
};

/* As at a program's start: an active InfiniBand port. */
extern struct fake_verbs fake_verbs;
void fake_verbs_reset(void);

extern const struct mgds_verbs fake_verbs_table;
extern const struct mgds_port fake_port;
extern const struct mgds_rail_settings fake_settings;

#endif
