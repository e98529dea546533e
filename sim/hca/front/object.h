/* What programs make with commands. Each belongs to a file, which calls it by a
 * handle: its number in the file's table of its kind. */
#ifndef MGDS_HCA_OBJECT_H
#define MGDS_HCA_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/ib_user_verbs.h>

#include "sim/hca/front/gpu.h"
#include "sim/hca/key.h"

struct mgds_hca_channel;
struct mgds_hca_cq;
struct mgds_hca_file;
struct mgds_hca_qp;
struct mgds_hca_srq;

struct mgds_hca_pd {
    uint32_t number; /* of the device: what keys and QPs carry */
    unsigned users;
};

struct mgds_hca_mr {
    struct mgds_hca_pd *pd;
    struct mgds_hca_memory memory;
    uint32_t key;
    struct mgds_hca_mapped mapped; /* of a GPU */
};

/* A memory window: its key as it was at first. */
struct mgds_hca_mw {
    struct mgds_hca_pd *pd;
    uint32_t key;
};

/* An address handle: libmlx5 keeps what is in it. */
struct mgds_hca_ah {
    struct mgds_hca_pd *pd;
};

struct mgds_hca_verbs_cq {
    struct mgds_hca_file *file;
    struct mgds_hca_cq *engine;
    struct mgds_hca_channel *channel; /* NULL: nobody wants its events */
    struct mgds_hca_channel *async;
    uint64_t user;        /* what the program calls it */
    uint32_t completions; /* events that were sent */
    uint32_t asyncs;
};

struct mgds_hca_verbs_srq {
    struct mgds_hca_file *file;
    struct mgds_hca_srq *engine;
    struct mgds_hca_pd *pd;
    uint64_t user;
    uint32_t asyncs;
    uint32_t max_sge;
};

struct mgds_hca_verbs_qp {
    struct mgds_hca_file *file;
    struct mgds_hca_qp *engine;
    struct mgds_hca_pd *pd;
    struct mgds_hca_channel *async;
    uint64_t user;
    uint32_t asyncs;
    int bfreg;                            /* of the file's, or -1 */
    struct ib_uverbs_create_qp_resp caps; /* what it was made with */
    bool signal_all;
    struct ib_uverbs_modify_qp set; /* what modify has set so far */
};

#endif
