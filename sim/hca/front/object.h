/* What programs make with commands. Each belongs to a file, which calls it by a
 * handle: its number in the file's table of its kind. */
#ifndef MGDS_HCA_OBJECT_H
#define MGDS_HCA_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/ib_user_verbs.h>

struct mgds_hca_channel;
struct mgds_hca_cq;
struct mgds_hca_file;
struct mgds_hca_qp;

enum { MGDS_HCA_HANDLES = 1 << 20 };

struct mgds_hca_pd {
    uint32_t number; /* of the device: what keys and QPs carry */
    unsigned users;
};

struct mgds_hca_mr {
    struct mgds_hca_pd *pd;
    uint32_t key;
};

struct mgds_hca_verbs_cq {
    struct mgds_hca_file *file;
    struct mgds_hca_cq *engine;
    struct mgds_hca_channel *channel; /* NULL: nobody wants its events */
    uint64_t user;                    /* what the program calls it */
    uint32_t completions;             /* events that were sent */
    uint32_t asyncs;
};

struct mgds_hca_verbs_qp {
    struct mgds_hca_file *file;
    struct mgds_hca_qp *engine;
    struct mgds_hca_pd *pd;
    uint64_t user;
    uint32_t asyncs;
    int bfreg; /* of the file's static ones, or -1 */
    uint32_t capacity[5];
    bool signal_all;
    struct ib_uverbs_modify_qp set; /* what modify has set so far */
};

#endif
