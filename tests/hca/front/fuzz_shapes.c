/* Draws of numbers and addresses, and what each command is filled with. */
#include "tests/hca/front/fuzz_shapes.h"

#include <infiniband/verbs.h>
#include <string.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "tests/hca/draw.h"

enum { HANDLES = 8, PAGE = 4096, WALKS = 4, LAST_STEP = 3 * WALKS - 1 };

uint64_t fuzz_seed = 1;
uint32_t fuzz_last_page;
uint8_t *fuzz_arena;

bool fuzz_one_in(uint32_t n)
{
    return draw_below(&fuzz_seed, n) == 0;
}

/* Numbers that are mostly small. */
uint32_t fuzz_number(void)
{
    static const uint32_t odd[] = {
        0, 1, 63, 64, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0xffffffff};

    if (fuzz_one_in(32))
        return odd[draw_below(&fuzz_seed, sizeof(odd) / sizeof(odd[0]))];
    return draw_below(&fuzz_seed, fuzz_one_in(32) ? 1 << 16 : 17);
}

static uint32_t power(uint32_t most)
{
    return fuzz_one_in(64) ? fuzz_number()
                           : UINT32_C(1) << draw_below(&fuzz_seed, most);
}

/* The type of a QP, what the driver is told of it, and which of the walks to
 * RTS below is its. */
struct service {
    uint8_t type;
    uint32_t flags;
    uint8_t walk;
};
static struct service drawn; /* the last one */

/* Handles of what was made last, by kind. */
enum kind { PD, MR, MW, AH, CQ, SRQ, QP, KINDS };
static uint32_t made[KINDS][HANDLES];
static uint8_t walk_of[HANDLES]; /* of QPs */

static uint32_t handle(enum kind kind)
{
    return fuzz_one_in(64) ? fuzz_number()
                           : made[kind][draw_below(&fuzz_seed, HANDLES)];
}

/* An address in the arena, at its edges, or nowhere. */
uint64_t fuzz_address(uint32_t aligned)
{
    uint64_t at =
        (uintptr_t)fuzz_arena +
        draw_below(&fuzz_seed, FUZZ_ARENA / aligned) * (uint64_t)aligned;

    if (fuzz_one_in(128))
        at += 1 + draw_below(&fuzz_seed, 7);
    if (fuzz_one_in(128))
        at = (uintptr_t)fuzz_arena + FUZZ_ARENA - draw_below(&fuzz_seed, 64);
    if (fuzz_one_in(128))
        at = fuzz_one_in(2)
                 ? 0
                 : (UINT64_C(0xdead) << 48) + draw(&fuzz_seed) % PAGE;
    return at;
}

/* Responses begin with the handle. */
void fuzz_keep_handle(uint32_t number, const void *response)
{
    static const uint32_t makers[KINDS] = {
        IB_USER_VERBS_CMD_ALLOC_PD,  IB_USER_VERBS_CMD_REG_MR,
        IB_USER_VERBS_CMD_ALLOC_MW,  IB_USER_VERBS_CMD_CREATE_AH,
        IB_USER_VERBS_CMD_CREATE_CQ, IB_USER_VERBS_CMD_CREATE_SRQ,
        IB_USER_VERBS_CMD_CREATE_QP};
    uint8_t command = (uint8_t)number;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        uint32_t place = draw_below(&fuzz_seed, HANDLES);

        if (makers[kind] != command)
            continue;
        memcpy(&made[kind][place], response, sizeof(uint32_t));
        if (kind == QP)
            walk_of[place] = drawn.walk;
    }
}

/* The page that the device gave last, or another one. */
uint32_t fuzz_page(void)
{
    return fuzz_one_in(16) ? fuzz_number() : fuzz_last_page;
}

static void fill_context(void *request, void *driver)
{
    struct mlx5_ib_alloc_ucontext_req_v2 *it = driver;

    (void)request;
    it->total_num_bfregs = fuzz_one_in(32) ? fuzz_number() : 16;
    it->num_low_latency_bfregs = fuzz_one_in(32) ? fuzz_number() : 4;
    it->max_cqe_version = !fuzz_one_in(64);
    it->lib_caps = fuzz_one_in(2) ? MLX5_LIB_CAP_DYN_UAR : 0;
    it->flags = fuzz_one_in(64) ? fuzz_number() : 0;
}

static void fill_port(void *request, void *driver)
{
    struct ib_uverbs_query_port *it = request;

    (void)driver;
    it->port_num = (uint8_t)(fuzz_one_in(4) ? fuzz_number() : 1);
}

static void fill_nothing(void *request, void *driver)
{
    (void)request;
    (void)driver;
}

/* Commands of which a handle is all that counts. */
#define MGDS_OF_HANDLE(name, field, kind)                                      \
    static void fill_##name(void *request, void *driver)                       \
    {                                                                          \
        struct ib_uverbs_##name *it = request;                                 \
                                                                               \
        (void)driver;                                                          \
        it->field = handle(kind);                                              \
    }
MGDS_OF_HANDLE(dealloc_pd, pd_handle, PD)
MGDS_OF_HANDLE(dereg_mr, mr_handle, MR)
MGDS_OF_HANDLE(dealloc_mw, mw_handle, MW)
MGDS_OF_HANDLE(destroy_ah, ah_handle, AH)
MGDS_OF_HANDLE(destroy_cq, cq_handle, CQ)
MGDS_OF_HANDLE(destroy_srq, srq_handle, SRQ)
MGDS_OF_HANDLE(destroy_qp, qp_handle, QP)
MGDS_OF_HANDLE(query_srq, srq_handle, SRQ)

static void fill_mr(void *request, void *driver)
{
    struct ib_uverbs_reg_mr *it = request;

    (void)driver;
    it->start = fuzz_address(1);
    it->hca_va = fuzz_one_in(4) ? draw(&fuzz_seed) : it->start;
    it->length = fuzz_one_in(64) ? draw(&fuzz_seed)
                                 : draw_below(&fuzz_seed, FUZZ_ARENA / 2);
    it->pd_handle = handle(PD);
    it->access_flags =
        fuzz_one_in(32) ? fuzz_number() : draw_below(&fuzz_seed, 32);
}

static void fill_remr(void *request, void *driver)
{
    struct ib_uverbs_rereg_mr *it = request;

    (void)driver;
    it->mr_handle = handle(MR);
    it->flags = draw_below(&fuzz_seed, 9);
    it->start = fuzz_address(1);
    it->length = draw_below(&fuzz_seed, FUZZ_ARENA / 2);
    it->hca_va = draw(&fuzz_seed);
    it->pd_handle = handle(PD);
    it->access_flags = draw_below(&fuzz_seed, 32);
}

static void fill_mw(void *request, void *driver)
{
    struct ib_uverbs_alloc_mw *it = request;

    (void)driver;
    it->pd_handle = handle(PD);
    it->mw_type = (uint8_t)(fuzz_one_in(32) ? fuzz_number()
                                            : 1 + draw_below(&fuzz_seed, 2));
}

static void fill_ah(void *request, void *driver)
{
    struct ib_uverbs_create_ah *it = request;

    (void)driver;
    it->pd_handle = handle(PD);
    it->attr.dlid = (uint16_t)fuzz_number();
    it->attr.is_global = (uint8_t)draw_below(&fuzz_seed, 2);
    it->attr.port_num = (uint8_t)(fuzz_one_in(32) ? fuzz_number() : 1);
}

static void fill_driver_cq(void *driver)
{
    struct mlx5_ib_create_cq *it = driver;

    it->buf_addr = fuzz_address(PAGE);
    it->db_addr = fuzz_address(64);
    it->cqe_size =
        fuzz_one_in(64) ? fuzz_number() : 64u << draw_below(&fuzz_seed, 2);
    it->flags = fuzz_one_in(8) ? MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX : 0;
    it->uar_page_index = (uint16_t)fuzz_page();
    it->cqe_comp_en = fuzz_one_in(64);
}

static void fill_cq(void *request, void *driver)
{
    struct ib_uverbs_create_cq *it = request;

    it->user_handle = fuzz_one_in(4) ? fuzz_address(8) : draw(&fuzz_seed);
    it->cqe = fuzz_one_in(64) ? fuzz_number() : 1 + draw_below(&fuzz_seed, 250);
    it->comp_channel = fuzz_one_in(2) ? -1 : (int)draw_below(&fuzz_seed, 32);
    fill_driver_cq(driver);
}

static void fill_cq_ex(void *request, void *driver)
{
    struct ib_uverbs_ex_create_cq *it = request;

    it->user_handle = draw(&fuzz_seed);
    it->cqe = 1 + fuzz_number();
    it->comp_channel = -1;
    it->comp_mask = fuzz_one_in(64) ? fuzz_number() : 0;
    it->flags = draw_below(&fuzz_seed, 4);
    fill_driver_cq(driver);
}

static void fill_srq(void *request, void *driver)
{
    struct ib_uverbs_create_srq *it = request;
    struct mlx5_ib_create_srq *more = driver;

    it->pd_handle = handle(PD);
    it->max_wr =
        fuzz_one_in(32) ? fuzz_number() : 1 + draw_below(&fuzz_seed, 100);
    it->max_sge =
        fuzz_one_in(32) ? fuzz_number() : 1 + draw_below(&fuzz_seed, 4);
    it->srq_limit = fuzz_one_in(4) ? fuzz_number() : 0;
    more->buf_addr = fuzz_address(PAGE);
    more->db_addr = fuzz_address(64);
    more->flags = fuzz_one_in(32) ? fuzz_number() : 0;
}

static void fill_modify_srq(void *request, void *driver)
{
    struct ib_uverbs_modify_srq *it = request;

    (void)driver;
    it->srq_handle = handle(SRQ);
    it->attr_mask = draw_below(&fuzz_seed, 4);
    it->srq_limit = fuzz_number();
}

static void draw_service(void)
{
    static const struct service services[] = {
        {IBV_QPT_RC, 0, 0},
        {IBV_QPT_UC, 0, 0},
        {IBV_QPT_UD, 0, 1},
        {IBV_QPT_DRIVER, MLX5_QP_FLAG_TYPE_DCI, 2},
        {IBV_QPT_DRIVER, MLX5_QP_FLAG_TYPE_DCT, 3},
    };

    drawn = services[draw_below(&fuzz_seed,
                                sizeof(services) / sizeof(services[0]))];
    if (fuzz_one_in(64))
        drawn.type = (uint8_t)fuzz_number();
    if (fuzz_one_in(64))
        drawn.flags = fuzz_number();
}

static void fill_driver_qp(void *driver)
{
    struct mlx5_ib_create_qp *it = driver;

    it->buf_addr = fuzz_address(PAGE);
    it->db_addr = fuzz_address(64);
    it->sq_wqe_count = power(8);
    it->rq_wqe_count = power(6);
    it->rq_wqe_shift =
        fuzz_one_in(64) ? fuzz_number() : 4 + draw_below(&fuzz_seed, 4);
    it->flags = drawn.flags;
    it->uidx = fuzz_number();
    it->bfreg_index = fuzz_number();
    if (fuzz_one_in(2)) {
        it->flags |= MLX5_QP_FLAG_UAR_PAGE_INDEX;
        it->bfreg_index = fuzz_page();
    }
    it->access_key = draw(&fuzz_seed);
}

static void fill_qp(void *request, void *driver)
{
    struct ib_uverbs_create_qp *it = request;

    draw_service();
    it->pd_handle = handle(PD);
    it->send_cq_handle = handle(CQ);
    it->recv_cq_handle = handle(CQ);
    it->srq_handle = handle(SRQ);
    it->max_send_wr = fuzz_number();
    it->max_recv_wr = fuzz_number();
    it->qp_type = drawn.type;
    it->is_srq = drawn.flags == MLX5_QP_FLAG_TYPE_DCT || fuzz_one_in(4);
    it->user_handle = draw(&fuzz_seed);
    fill_driver_qp(driver);
}

static void fill_qp_ex(void *request, void *driver)
{
    struct ib_uverbs_ex_create_qp *it = request;

    draw_service();
    it->pd_handle = handle(PD);
    it->send_cq_handle = handle(CQ);
    it->recv_cq_handle = handle(CQ);
    it->srq_handle = handle(SRQ);
    it->max_send_wr = fuzz_number();
    it->max_recv_wr = fuzz_number();
    it->qp_type = drawn.type;
    it->is_srq = drawn.flags == MLX5_QP_FLAG_TYPE_DCT || fuzz_one_in(4);
    it->comp_mask = fuzz_one_in(64) ? fuzz_number() : 0;
    it->create_flags = fuzz_one_in(64) ? fuzz_number() : 0;
    fill_driver_qp(driver);
}

/* A QP on its way to RTS, as RC, UD, DCI or DCT. */
static struct {
    uint32_t handle;
    size_t step;
} walk;

static size_t next_step(struct ib_uverbs_modify_qp *it)
{
    uint32_t place = draw_below(&fuzz_seed, HANDLES);

    if (walk.step > LAST_STEP || fuzz_one_in(64)) {
        walk.handle = made[QP][place];
        walk.step =
            fuzz_one_in(8) ? draw_below(&fuzz_seed, WALKS) : walk_of[place];
    }
    it->qp_handle = walk.handle;
    walk.step += WALKS;
    return walk.step - WALKS;
}

/* Mostly the next state of a QP, with what it needs for it. */
static void fill_modify(void *request, void *driver)
{
    enum {
        PORT = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
        RIGHTS = PORT | IBV_QP_ACCESS_FLAGS,
        PATH = IBV_QP_AV | IBV_QP_PATH_MTU,
        SENDS = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
    };
    static const struct {
        uint8_t state;
        uint32_t mask;
    } steps[] = {
        {IBV_QPS_INIT, RIGHTS},
        {IBV_QPS_INIT, PORT | IBV_QP_QKEY},
        {IBV_QPS_INIT, PORT},
        {IBV_QPS_INIT, RIGHTS},
        {IBV_QPS_RTR, PATH | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
        {IBV_QPS_RTR, 0},
        {IBV_QPS_RTR, PATH},
        {IBV_QPS_RTR, PATH | IBV_QP_MIN_RNR_TIMER},
        {IBV_QPS_RTS, SENDS},
        {IBV_QPS_RTS, IBV_QP_SQ_PSN},
        {IBV_QPS_RTS, SENDS},
        {IBV_QPS_RTS, SENDS}, /* a DCT stays where it is */
        {IBV_QPS_SQD, 0},
        {IBV_QPS_ERR, 0},
        {IBV_QPS_RESET, 0},
    };
    struct ib_uverbs_modify_qp *it = request;
    size_t step = draw_below(&fuzz_seed, sizeof(steps) / sizeof(steps[0]));

    (void)driver;
    it->qp_handle = handle(QP);
    if (!fuzz_one_in(32))
        step = next_step(it);
    it->qp_state = fuzz_one_in(32) ? (uint8_t)fuzz_number() : steps[step].state;
    it->attr_mask = IBV_QP_STATE | steps[step].mask;
    it->attr_mask ^= fuzz_one_in(64) ? fuzz_number() : 0;
    it->port_num = (uint8_t)(fuzz_one_in(32) ? fuzz_number() : 1);
    it->path_mtu =
        (uint8_t)(1 + draw_below(&fuzz_seed, fuzz_one_in(64) ? 255 : 5));
    it->dest.port_num = 1;
    it->dest.dlid = (uint16_t)(1 + draw_below(&fuzz_seed, 4));
    it->dest_qp_num = 0x40 + draw_below(&fuzz_seed, 64);
    it->qkey = 1;
    it->qp_access_flags = draw_below(&fuzz_seed, 16);
    it->max_rd_atomic = (uint8_t)draw_below(&fuzz_seed, 17);
    it->max_dest_rd_atomic = (uint8_t)draw_below(&fuzz_seed, 17);
    it->timeout = (uint8_t)draw_below(&fuzz_seed, 20);
    it->retry_cnt = (uint8_t)draw_below(&fuzz_seed, fuzz_one_in(64) ? 256 : 8);
    it->rnr_retry = (uint8_t)draw_below(&fuzz_seed, fuzz_one_in(64) ? 256 : 8);
}

static void fill_query_qp(void *request, void *driver)
{
    struct ib_uverbs_query_qp *it = request;

    (void)driver;
    it->qp_handle = handle(QP);
    it->attr_mask = fuzz_number();
}

#define EXTENDED(name)                                                         \
    (IB_USER_VERBS_CMD_##name | IB_USER_VERBS_CMD_FLAG_EXTENDED)
#define SHAPE(name, fill, in, out, driver_in, driver_out)                      \
    {                                                                          \
        IB_USER_VERBS_CMD_##name, fill, in, out, driver_in, driver_out         \
    }

const struct fuzz_shape fuzz_shapes[] = {
    SHAPE(GET_CONTEXT, fill_context, sizeof(struct ib_uverbs_get_context),
          sizeof(struct ib_uverbs_get_context_resp),
          sizeof(struct mlx5_ib_alloc_ucontext_req_v2),
          sizeof(struct mlx5_ib_alloc_ucontext_resp)),
    SHAPE(QUERY_DEVICE, fill_nothing, sizeof(struct ib_uverbs_query_device),
          sizeof(struct ib_uverbs_query_device_resp), 0, 0),
    SHAPE(QUERY_PORT, fill_port, sizeof(struct ib_uverbs_query_port),
          sizeof(struct ib_uverbs_query_port_resp), 0, 0),
    SHAPE(ALLOC_PD, fill_nothing, sizeof(struct ib_uverbs_alloc_pd),
          sizeof(struct ib_uverbs_alloc_pd_resp), 0,
          sizeof(struct mlx5_ib_alloc_pd_resp)),
    SHAPE(DEALLOC_PD, fill_dealloc_pd, sizeof(struct ib_uverbs_dealloc_pd), 0,
          0, 0),
    SHAPE(REG_MR, fill_mr, sizeof(struct ib_uverbs_reg_mr),
          sizeof(struct ib_uverbs_reg_mr_resp), 0, 0),
    SHAPE(REREG_MR, fill_remr, sizeof(struct ib_uverbs_rereg_mr),
          sizeof(struct ib_uverbs_rereg_mr_resp), 0, 0),
    SHAPE(DEREG_MR, fill_dereg_mr, sizeof(struct ib_uverbs_dereg_mr), 0, 0, 0),
    SHAPE(ALLOC_MW, fill_mw, sizeof(struct ib_uverbs_alloc_mw),
          sizeof(struct ib_uverbs_alloc_mw_resp), 0, 0),
    SHAPE(DEALLOC_MW, fill_dealloc_mw, sizeof(struct ib_uverbs_dealloc_mw), 0,
          0, 0),
    SHAPE(CREATE_AH, fill_ah, sizeof(struct ib_uverbs_create_ah),
          sizeof(struct ib_uverbs_create_ah_resp), 0,
          sizeof(struct mlx5_ib_create_ah_resp)),
    SHAPE(DESTROY_AH, fill_destroy_ah, sizeof(struct ib_uverbs_destroy_ah), 0,
          0, 0),
    SHAPE(CREATE_COMP_CHANNEL, fill_nothing,
          sizeof(struct ib_uverbs_create_comp_channel),
          sizeof(struct ib_uverbs_create_comp_channel_resp), 0, 0),
    SHAPE(CREATE_CQ, fill_cq, sizeof(struct ib_uverbs_create_cq),
          sizeof(struct ib_uverbs_create_cq_resp),
          sizeof(struct mlx5_ib_create_cq),
          sizeof(struct mlx5_ib_create_cq_resp)),
    SHAPE(DESTROY_CQ, fill_destroy_cq, sizeof(struct ib_uverbs_destroy_cq),
          sizeof(struct ib_uverbs_destroy_cq_resp), 0, 0),
    SHAPE(CREATE_SRQ, fill_srq, sizeof(struct ib_uverbs_create_srq),
          sizeof(struct ib_uverbs_create_srq_resp),
          sizeof(struct mlx5_ib_create_srq),
          sizeof(struct mlx5_ib_create_srq_resp)),
    SHAPE(MODIFY_SRQ, fill_modify_srq, sizeof(struct ib_uverbs_modify_srq), 0,
          0, 0),
    SHAPE(QUERY_SRQ, fill_query_srq, sizeof(struct ib_uverbs_query_srq),
          sizeof(struct ib_uverbs_query_srq_resp), 0, 0),
    SHAPE(DESTROY_SRQ, fill_destroy_srq, sizeof(struct ib_uverbs_destroy_srq),
          sizeof(struct ib_uverbs_destroy_srq_resp), 0, 0),
    SHAPE(CREATE_QP, fill_qp, sizeof(struct ib_uverbs_create_qp),
          sizeof(struct ib_uverbs_create_qp_resp),
          sizeof(struct mlx5_ib_create_qp),
          sizeof(struct mlx5_ib_create_qp_resp)),
    SHAPE(MODIFY_QP, fill_modify, sizeof(struct ib_uverbs_modify_qp), 0, 0, 0),
    SHAPE(MODIFY_QP, fill_modify, sizeof(struct ib_uverbs_modify_qp), 0, 0, 0),
    SHAPE(MODIFY_QP, fill_modify, sizeof(struct ib_uverbs_modify_qp), 0, 0, 0),
    SHAPE(QUERY_QP, fill_query_qp, sizeof(struct ib_uverbs_query_qp),
          sizeof(struct ib_uverbs_query_qp_resp), 0, 0),
    SHAPE(DESTROY_QP, fill_destroy_qp, sizeof(struct ib_uverbs_destroy_qp),
          sizeof(struct ib_uverbs_destroy_qp_resp), 0, 0),
    {EXTENDED(QUERY_DEVICE), fill_nothing,
     sizeof(struct ib_uverbs_ex_query_device),
     sizeof(struct ib_uverbs_ex_query_device_resp), 0,
     sizeof(struct mlx5_ib_query_device_resp)},
    {EXTENDED(CREATE_CQ), fill_cq_ex, sizeof(struct ib_uverbs_ex_create_cq),
     sizeof(struct ib_uverbs_ex_create_cq_resp),
     sizeof(struct mlx5_ib_create_cq), sizeof(struct mlx5_ib_create_cq_resp)},
    {EXTENDED(CREATE_QP), fill_qp_ex, sizeof(struct ib_uverbs_ex_create_qp),
     sizeof(struct ib_uverbs_ex_create_qp_resp),
     sizeof(struct mlx5_ib_create_qp), sizeof(struct mlx5_ib_create_qp_resp)},
    {EXTENDED(MODIFY_QP), fill_modify, sizeof(struct ib_uverbs_ex_modify_qp),
     sizeof(struct ib_uverbs_ex_modify_qp_resp), 0,
     sizeof(struct mlx5_ib_modify_qp_resp)},
};

const size_t fuzz_shape_count = sizeof(fuzz_shapes) / sizeof(fuzz_shapes[0]);
