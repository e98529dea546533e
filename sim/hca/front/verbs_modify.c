/* MODIFY_QP: which attributes a change of state takes, and what they say. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "sim/hca/front/gid.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/front/verbs.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire.h"

/* IBV_QP_* masks, without the state's own. */
struct transition {
    enum ibv_qp_state from;
    enum ibv_qp_state to;
    uint32_t required;
    uint32_t optional;
};

enum {
    RC = MGDS_SERVICE_RC,
    UC = MGDS_SERVICE_UC,
    UD = MGDS_SERVICE_UD,
    DCI = MGDS_SERVICE_DCI,
    DCT = MGDS_SERVICE_DCT,
    TRANSITIONS = 8,
    RIGHTS = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
    KEYS = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
    PATH = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
    RC_PATH = PATH | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
    RC_RETRY = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
               IBV_QP_MAX_QP_RD_ATOMIC,
    ANY = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH |
          IBV_QP_PATH_MIG_STATE,
    RC_ANY = ANY | IBV_QP_MIN_RNR_TIMER,
    UD_ANY = IBV_QP_CUR_STATE | IBV_QP_QKEY,
    AT_RTR = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
    DRAIN = IBV_QP_EN_SQD_ASYNC_NOTIFY,
    MTU_MIN = IBV_MTU_256
};

/* The transitions are the kernel's. Any state goes to RESET and ERR, with no
 * more; but a DCT stays in RTR. */
static const struct transition transitions[MGDS_SERVICES][TRANSITIONS] = {
    [RC] = {{IBV_QPS_RESET, IBV_QPS_INIT, RIGHTS, 0},
            {IBV_QPS_INIT, IBV_QPS_INIT, 0, RIGHTS},
            {IBV_QPS_INIT, IBV_QPS_RTR, RC_PATH, AT_RTR},
            {IBV_QPS_RTR, IBV_QPS_RTS, RC_RETRY | IBV_QP_SQ_PSN, RC_ANY},
            {IBV_QPS_RTS, IBV_QPS_RTS, 0, RC_ANY},
            {IBV_QPS_RTS, IBV_QPS_SQD, 0, DRAIN},
            {IBV_QPS_SQD, IBV_QPS_RTS, 0, RC_ANY},
            {IBV_QPS_SQD, IBV_QPS_SQD, 0,
             RC_ANY | RC_RETRY | IBV_QP_PORT | IBV_QP_AV | IBV_QP_PKEY_INDEX |
                 IBV_QP_MAX_DEST_RD_ATOMIC}},
    [UC] = {{IBV_QPS_RESET, IBV_QPS_INIT, RIGHTS, 0},
            {IBV_QPS_INIT, IBV_QPS_INIT, 0, RIGHTS},
            {IBV_QPS_INIT, IBV_QPS_RTR, PATH, AT_RTR},
            {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, ANY},
            {IBV_QPS_RTS, IBV_QPS_RTS, 0, ANY},
            {IBV_QPS_RTS, IBV_QPS_SQD, 0, DRAIN},
            {IBV_QPS_SQD, IBV_QPS_RTS, 0, ANY},
            {IBV_QPS_SQD, IBV_QPS_SQD, 0, ANY | IBV_QP_AV | IBV_QP_PKEY_INDEX}},
    [UD] = {{IBV_QPS_RESET, IBV_QPS_INIT, KEYS, 0},
            {IBV_QPS_INIT, IBV_QPS_INIT, 0, KEYS},
            {IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
            {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, UD_ANY},
            {IBV_QPS_RTS, IBV_QPS_RTS, 0, UD_ANY},
            {IBV_QPS_RTS, IBV_QPS_SQD, 0, DRAIN},
            {IBV_QPS_SQD, IBV_QPS_RTS, 0, UD_ANY},
            {IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    [DCI] = {{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT, 0},
             {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT},
             {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU,
              IBV_QP_PKEY_INDEX | IBV_QP_AV},
             {IBV_QPS_RTR, IBV_QPS_RTS, RC_RETRY | IBV_QP_SQ_PSN,
              IBV_QP_MIN_RNR_TIMER},
             {IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_MIN_RNR_TIMER}},
    [DCT] = {{IBV_QPS_RESET, IBV_QPS_INIT, RIGHTS, 0},
             {IBV_QPS_INIT, IBV_QPS_RTR,
              IBV_QP_MIN_RNR_TIMER | IBV_QP_AV | IBV_QP_PATH_MTU, 0}},
};

static const enum ibv_qp_state verbs_states[MGDS_STATES] = {
    [MGDS_STATE_RESET] = IBV_QPS_RESET, [MGDS_STATE_INIT] = IBV_QPS_INIT,
    [MGDS_STATE_RTR] = IBV_QPS_RTR,     [MGDS_STATE_RTS] = IBV_QPS_RTS,
    [MGDS_STATE_SQD] = IBV_QPS_SQD,     [MGDS_STATE_ERR] = IBV_QPS_ERR,
};

/* MGDS_STATES: RC has no such state. */
static enum mgds_hca_state engine_state(enum ibv_qp_state state)
{
    unsigned i = 0;

    while (i < MGDS_STATES && verbs_states[i] != state)
        i++;
    return (enum mgds_hca_state)i;
}

static bool takes_mask(enum mgds_hca_service service, enum ibv_qp_state from,
                       enum ibv_qp_state to, uint32_t mask)
{
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return mask == 0 && service != MGDS_SERVICE_DCT;
    for (unsigned i = 0; i < TRANSITIONS; i++) {
        const struct transition *row = &transitions[service][i];

        if (row->from == from && row->to == to)
            return (mask & row->required) == row->required &&
                   (mask & ~(row->required | row->optional)) == 0;
    }
    return false;
}

/* What a QP is given again, or late, that the engine takes at one state
 * alone. */
static bool comes_late(uint32_t mask, enum ibv_qp_state from)
{
    const uint32_t connected = IBV_QP_AV | RC_RETRY | IBV_QP_MAX_DEST_RD_ATOMIC;

    return (from != IBV_QPS_INIT && mask & IBV_QP_MIN_RNR_TIMER) ||
           (from == IBV_QPS_SQD && mask & connected);
}

/* The same of the Q_Key: it may come again, and not change. */
static bool changes_qkey(const struct mgds_hca_verbs_qp *qp,
                         const struct ib_uverbs_modify_qp *in,
                         enum ibv_qp_state to)
{
    return in->attr_mask & IBV_QP_QKEY && to != IBV_QPS_INIT &&
           in->qkey != qp->set.qkey;
}

static int check_modelled(const struct mgds_hca_verbs_qp *qp,
                          const struct mgds_hca_command *command,
                          const struct ib_uverbs_modify_qp *in,
                          enum ibv_qp_state to)
{
    if (in->attr_mask & IBV_QP_ALT_PATH ||
        (in->attr_mask & IBV_QP_PATH_MIG_STATE &&
         in->path_mig_state != IBV_MIG_MIGRATED))
        return mgds_hca_not_modelled(command->name, "path migration");
    if (comes_late(in->attr_mask, verbs_states[qp->engine->state]) ||
        changes_qkey(qp, in, to))
        return mgds_hca_not_modelled(command->name,
                                     "this attribute in this state");
    return 0;
}

/* The port is the QP's (Linux modify_qp), and so is the sender's GID. */
static bool is_own(const struct mgds_hca_verbs_qp *qp,
                   const struct ib_uverbs_qp_dest *to)
{
    return to->port_num == qp->set.port_num &&
           (!to->is_global || to->sgid_index < mgds_hca_gids());
}

/* Ethernet has no LIDs: a path has a GID that leads to somebody. */
static int check_path(const struct mgds_hca_verbs_qp *qp,
                      const struct ib_uverbs_qp_dest *to)
{
    if (!is_own(qp, to) || (!to->is_global && !mgds_hca_is_ib()))
        return -EINVAL;
    return mgds_hca_is_ib() || mgds_hca_gid_number(to->dgid) ? 0
                                                             : -EHOSTUNREACH;
}

/* DC: whom it reaches stands in WQEs, and whom a DCT answers in packets. */
static int check_dynamic_path(const struct mgds_hca_verbs_qp *qp,
                              const struct ib_uverbs_qp_dest *to)
{
    return is_own(qp, to) ? 0 : -EINVAL;
}

static bool is_port(uint32_t port)
{
    return port >= 1 && port <= mgds_hca_ports();
}

static int check_values(const struct mgds_hca_verbs_qp *qp,
                        const struct ib_uverbs_modify_qp *in)
{
    uint32_t mask = in->attr_mask;

    if ((mask & IBV_QP_PORT && !is_port(in->port_num)) ||
        (mask & IBV_QP_PKEY_INDEX && in->pkey_index != 0) ||
        (mask & IBV_QP_PATH_MTU &&
         (in->path_mtu < MTU_MIN || in->path_mtu > MGDS_HCA_PORT_MTU)) ||
        (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
         in->max_rd_atomic > MGDS_HCA_READS) ||
        (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
         in->max_dest_rd_atomic > MGDS_HCA_READS))
        return -EINVAL;
    if (!(mask & IBV_QP_AV))
        return 0;
    return mgds_hca_is_dynamic(qp->engine->attr.service)
               ? check_dynamic_path(qp, &in->dest)
               : check_path(qp, &in->dest);
}

/* The delay that the five bits of a timer mean, in units of 10 us. */
static uint64_t rnr_delay(uint8_t timer)
{
    static const uint32_t units[32] = {
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

    return units[timer & 31] * UINT64_C(10000);
}

/* Zero is never. A ConnectX has a least one, too. */
static uint8_t ack_timeout(uint8_t asked)
{
    uint8_t least = (uint8_t)mgds_hca_settings()->least_timeout;

    return asked == 0 || asked > least ? asked : least;
}

/* `in` has been checked but for ranges that the engine knows. */
static struct mgds_hca_change make_change(const struct ib_uverbs_modify_qp *in,
                                          enum mgds_hca_state state)
{
    return (struct mgds_hca_change){
        .state = state,
        .access = (uint8_t)in->qp_access_flags,
        .qkey = in->qkey,
        .port = in->port_num,
        .peer = in->dest_qp_num,
        .receive_psn = in->rq_psn & MGDS_HCA_PSN_MASK,
        .address = mgds_hca_path(&in->dest),
        .mtu = (uint16_t)(128 << (in->path_mtu & 7)),
        .rnr_delay = rnr_delay(in->min_rnr_timer),
        .send_psn = in->sq_psn & MGDS_HCA_PSN_MASK,
        .rnr_retry = in->rnr_retry,
        .reads = in->max_rd_atomic ? in->max_rd_atomic : 1,
        .timeout = ack_timeout(in->timeout),
        .retries = in->retry_cnt,
    };
}

#define KEPT(mask, field)                                                      \
    {                                                                          \
        mask, offsetof(struct ib_uverbs_modify_qp, field),                     \
            sizeof(((struct ib_uverbs_modify_qp *)NULL)->field)                \
    }

/* What QUERY_QP will say. */
static void keep_set(struct ib_uverbs_modify_qp *set,
                     const struct ib_uverbs_modify_qp *in)
{
    static const struct {
        uint32_t mask;
        size_t offset;
        size_t bytes;
    } kept[] = {
        KEPT(IBV_QP_AV, dest),
        KEPT(IBV_QP_QKEY, qkey),
        KEPT(IBV_QP_RQ_PSN, rq_psn),
        KEPT(IBV_QP_SQ_PSN, sq_psn),
        KEPT(IBV_QP_DEST_QPN, dest_qp_num),
        KEPT(IBV_QP_ACCESS_FLAGS, qp_access_flags),
        KEPT(IBV_QP_PATH_MTU, path_mtu),
        KEPT(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify),
        KEPT(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
        KEPT(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
        KEPT(IBV_QP_MIN_RNR_TIMER, min_rnr_timer),
        KEPT(IBV_QP_PORT, port_num),
        KEPT(IBV_QP_TIMEOUT, timeout),
        KEPT(IBV_QP_RETRY_CNT, retry_cnt),
        KEPT(IBV_QP_RNR_RETRY, rnr_retry),
    };

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (in->attr_mask & kept[i].mask)
            memcpy((uint8_t *)set + kept[i].offset,
                   (const uint8_t *)in + kept[i].offset, kept[i].bytes);
    }
}

static int check_change(const struct mgds_hca_verbs_qp *qp,
                        const struct mgds_hca_command *command,
                        const struct ib_uverbs_modify_qp *in,
                        enum ibv_qp_state to)
{
    enum ibv_qp_state from = verbs_states[qp->engine->state];
    int rc;

    if ((in->attr_mask & IBV_QP_CUR_STATE && in->cur_qp_state != from) ||
        engine_state(to) == MGDS_STATES ||
        !takes_mask(qp->engine->attr.service, from, to,
                    in->attr_mask & ~(uint32_t)IBV_QP_STATE))
        return -EINVAL;
    rc = check_modelled(qp, command, in, to);
    return rc < 0 ? rc : check_values(qp, in);
}

static int modify_qp(const struct mgds_hca_file *file,
                     const struct mgds_hca_command *command,
                     const struct ib_uverbs_modify_qp *in)
{
    const struct mlx5_ib_modify_qp *driver = command->driver_request;
    struct mgds_hca_verbs_qp *qp =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_QP, in->qp_handle);
    struct mgds_hca_change change;
    enum ibv_qp_state to;
    int rc;

    if (!qp)
        return -EINVAL;
    if (driver->comp_mask || driver->ece_options)
        return mgds_hca_not_modelled(command->name,
                                     "rates or connection options");
    to = in->attr_mask & IBV_QP_STATE ? (enum ibv_qp_state)in->qp_state
                                      : verbs_states[qp->engine->state];
    rc = check_change(qp, command, in, to);
    if (rc < 0)
        return rc;
    if (to == IBV_QPS_RESET)
        qp->set = (struct ib_uverbs_modify_qp){0};
    change = make_change(in, engine_state(to));
    if (!(in->attr_mask & IBV_QP_ACCESS_FLAGS))
        change.access = qp->engine->set.access;
    if (!(in->attr_mask & IBV_QP_QKEY))
        change.qkey = qp->engine->set.qkey;
    if (!(in->attr_mask & IBV_QP_PORT))
        change.port = qp->engine->set.port;
    rc = mgds_hca_qp_modify(qp->engine, &change);
    if (rc < 0)
        return rc;
    keep_set(&qp->set, in);
    if (in->attr_mask & IBV_QP_ACCESS_FLAGS)
        mgds_hca_qp_allow(qp->engine, change.access);
    return 0;
}

int mgds_hca_verbs_modify_qp(struct mgds_hca_file *file,
                             struct mgds_hca_command *command)
{
    return modify_qp(file, command, command->request);
}

/* A ConnectX numbers a target when it comes to RTR, and libmlx5 asks then. */
static uint32_t target_number(const struct mgds_hca_file *file, uint32_t handle)
{
    const struct mgds_hca_verbs_qp *qp =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_QP, handle);

    return qp && qp->engine->attr.service == MGDS_SERVICE_DCT
               ? qp->engine->number
               : 0;
}

int mgds_hca_verbs_modify_qp_ex(struct mgds_hca_file *file,
                                struct mgds_hca_command *command)
{
    const struct ib_uverbs_ex_modify_qp *in = command->request;
    struct ib_uverbs_ex_modify_qp_resp *out = command->response;
    struct mlx5_ib_modify_qp_resp *driver = command->driver_response;

    if (in->rate_limit || in->base.attr_mask & IBV_QP_RATE_LIMIT)
        return mgds_hca_not_modelled(command->name, "rates");
    out->response_length = (uint32_t)command->response_room;
    driver->response_length = (uint32_t)command->driver_response_room;
    driver->dctn = target_number(file, in->base.qp_handle);
    return modify_qp(file, command, &in->base);
}
