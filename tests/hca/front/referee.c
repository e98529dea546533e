/* The same work on any RDMA device, by libibverbs alone: what each case ends
 * with, a line each. rxe.py compares these lines of a software ConnectX with
 * those of a kernel's provider.
 *
 *   referee       the first device, its first port, GID 0
 *
 * A line has the case, the status of the first work request that did not
 * succeed or "success", that of the one behind it, and the states of both QPs.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BYTES = 1 << 16,
    PSN = 77,
    QKEY = 0x1234,
    GRH = 40,
    PORT = 1,
    DEPTH = 16,
    PATIENCE = 20000, /* ms */
    RECEIVE = BYTES / 2,
    HALF = BYTES / 2
};

struct side {
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_comp_channel *channel;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    uint8_t *memory;
};

struct pair {
    struct ibv_context *context;
    struct side a; /* posts */
    struct side b; /* is written to */
    union ibv_gid gid;
    uint16_t lid;
};

/* A work request of a, and what b has for it. */
struct row {
    const char *name;
    uint64_t shift; /* of b's address */
    enum ibv_qp_type service;
    enum ibv_wr_opcode opcode;
    uint32_t bytes;
    uint32_t receive; /* bytes of b's receive; 0: none */
    unsigned flags;
    unsigned deny; /* access that b's region has not */
    unsigned shut; /* that b's QP allows nobody */
    uint32_t lkey; /* to be xored: */
    uint32_t rkey;
    bool gone; /* b's region is, when a posts */
};

#define ALL                                                                    \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                        \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define RC .service = IBV_QPT_RC
#define UC .service = IBV_QPT_UC
#define UD .service = IBV_QPT_UD

static const struct row rows[] = {
    {"write", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = HALF},
    {"write of nothing", RC, .opcode = IBV_WR_RDMA_WRITE},
    {"write inline", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 32,
     .flags = IBV_SEND_INLINE},
    {"write with immediate", RC, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
     .bytes = HALF, .receive = 8},
    {"read", RC, .opcode = IBV_WR_RDMA_READ, .bytes = HALF},
    {"read behind a fence", RC, .opcode = IBV_WR_RDMA_READ, .bytes = 8,
     .flags = IBV_SEND_FENCE},
    {"send", RC, .opcode = IBV_WR_SEND, .bytes = 5000, .receive = RECEIVE},
    {"send with immediate", RC, .opcode = IBV_WR_SEND_WITH_IMM, .bytes = 5000,
     .receive = RECEIVE},
    {"send inline", RC, .opcode = IBV_WR_SEND, .bytes = 32, .receive = RECEIVE,
     .flags = IBV_SEND_INLINE},
    {"fetch and add", RC, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .bytes = 8},
    {"compare and swap", RC, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .bytes = 8},
    {"write of UC", UC, .opcode = IBV_WR_RDMA_WRITE, .bytes = HALF},
    {"send of UC", UC, .opcode = IBV_WR_SEND, .bytes = 5000,
     .receive = RECEIVE},
    {"send of UD", UD, .opcode = IBV_WR_SEND, .bytes = 512,
     .receive = GRH + 512},
    {"send of UD with immediate", UD, .opcode = IBV_WR_SEND_WITH_IMM,
     .bytes = 512, .receive = GRH + 512},
    {"wrong rkey", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8, .rkey = 0xff00},
    {"wrong rkey of a read", RC, .opcode = IBV_WR_RDMA_READ, .bytes = 8,
     .rkey = 0xff00},
    {"wrong rkey of an atomic", RC, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
     .bytes = 8, .rkey = 0xff00},
    {"wrong lkey", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8, .lkey = 0xff00},
    {"beyond the end", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8,
     .shift = BYTES},
    {"across the end", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8,
     .shift = BYTES - 4},
    {"read-only region", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8,
     .deny = IBV_ACCESS_REMOTE_WRITE},
    {"region without reads", RC, .opcode = IBV_WR_RDMA_READ, .bytes = 8,
     .deny = IBV_ACCESS_REMOTE_READ},
    {"region without atomics", RC, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
     .bytes = 8, .deny = IBV_ACCESS_REMOTE_ATOMIC},
    {"region that is gone", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8,
     .gone = true},
    {"QP without writes", RC, .opcode = IBV_WR_RDMA_WRITE, .bytes = 8,
     .shut = IBV_ACCESS_REMOTE_WRITE},
    {"QP without reads", RC, .opcode = IBV_WR_RDMA_READ, .bytes = 8,
     .shut = IBV_ACCESS_REMOTE_READ},
    {"QP without atomics", RC, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
     .bytes = 8, .shut = IBV_ACCESS_REMOTE_ATOMIC},
    {"atomic that is not aligned", RC, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
     .bytes = 8, .shift = 4},
    {"send without a receive", RC, .opcode = IBV_WR_SEND, .bytes = 8},
    {"send that is too long", RC, .opcode = IBV_WR_SEND, .bytes = 5000,
     .receive = 100},
};

static void fail(const char *what)
{
    fprintf(stderr, "referee: %s\n", what);
    exit(1);
}

static void *check(void *made, const char *what)
{
    if (!made)
        fail(what);
    return made;
}

static void make_qp(struct side *side, const struct row *row)
{
    struct ibv_qp_init_attr attr = {.qp_type = row->service,
                                    .send_cq = side->cq,
                                    .recv_cq = side->cq,
                                    .sq_sig_all = 1,
                                    .cap = {.max_send_wr = DEPTH,
                                            .max_recv_wr = DEPTH,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = 64}};

    side->qp = check(ibv_create_qp(side->pd, &attr), "no QP");
}

static void open_side(const struct pair *pair, struct side *side,
                      const struct row *row, unsigned access)
{
    side->memory = check(aligned_alloc(4096, BYTES), "no memory");
    memset(side->memory, side == &pair->a ? 1 : 2, BYTES);
    side->pd = check(ibv_alloc_pd(pair->context), "no PD");
    side->channel = check(ibv_create_comp_channel(pair->context), "no channel");
    side->cq =
        check(ibv_create_cq(pair->context, 2 * DEPTH, NULL, side->channel, 0),
              "no CQ");
    side->mr =
        check(ibv_reg_mr(side->pd, side->memory, BYTES, access), "no MR");
    make_qp(side, row);
}

static void close_side(struct side *side)
{
    ibv_destroy_qp(side->qp);
    ibv_destroy_cq(side->cq);
    ibv_destroy_comp_channel(side->channel);
    if (side->mr)
        ibv_dereg_mr(side->mr);
    ibv_dealloc_pd(side->pd);
    free(side->memory);
}

static struct ibv_ah_attr path_to(const struct pair *pair)
{
    return (struct ibv_ah_attr){.is_global = 1,
                                .dlid = pair->lid,
                                .port_num = PORT,
                                .grh = {.dgid = pair->gid, .hop_limit = 1}};
}

static void to_init(const struct side *side, const struct row *row,
                    unsigned access)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = PORT,
                               .qkey = QKEY,
                               .qp_access_flags = access};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    mask |= row->service == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    if (ibv_modify_qp(side->qp, &attr, mask) != 0)
        fail("INIT");
}

static void to_rtr(const struct pair *pair, const struct side *side,
                   const struct side *peer, const struct row *row)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_1024,
                               .dest_qp_num = peer->qp->qp_num,
                               .rq_psn = PSN,
                               .max_dest_rd_atomic = 1,
                               .min_rnr_timer = 1,
                               .ah_attr = path_to(pair)};
    int mask = IBV_QP_STATE;

    if (row->service != IBV_QPT_UD)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (row->service == IBV_QPT_RC)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (ibv_modify_qp(side->qp, &attr, mask) != 0)
        fail("RTR");
}

static void to_rts(const struct side *side, const struct row *row)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
                               .sq_psn = PSN,
                               .timeout = 14,
                               .retry_cnt = 3,
                               .rnr_retry = 0,
                               .max_rd_atomic = 1};
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

    if (row->service == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
    if (ibv_modify_qp(side->qp, &attr, mask) != 0)
        fail("RTS");
}

static void connect_pair(const struct pair *pair, const struct row *row)
{
    to_init(&pair->a, row, ALL & ~IBV_ACCESS_LOCAL_WRITE);
    to_init(&pair->b, row, ALL & ~IBV_ACCESS_LOCAL_WRITE & ~row->shut);
    to_rtr(pair, &pair->a, &pair->b, row);
    to_rtr(pair, &pair->b, &pair->a, row);
    to_rts(&pair->a, row);
    to_rts(&pair->b, row);
}

static void post_receive(const struct side *side, uint32_t bytes)
{
    struct ibv_sge sge = {.addr = (uintptr_t)side->memory + HALF,
                          .length = bytes,
                          .lkey = side->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

    if (ibv_post_recv(side->qp, &wr, &bad) != 0)
        fail("a receive");
}

/* Where the operation is and whom it goes to. */
static void aim(const struct pair *pair, const struct row *row,
                struct ibv_ah *ah, struct ibv_send_wr *wr)
{
    uint64_t address = (uintptr_t)pair->b.memory + row->shift;
    uint32_t rkey = pair->b.mr->rkey ^ row->rkey;

    if (row->service == IBV_QPT_UD) {
        wr->wr.ud.ah = ah;
        wr->wr.ud.remote_qpn = pair->b.qp->qp_num;
        wr->wr.ud.remote_qkey = QKEY;
    } else if (row->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
               row->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr->wr.atomic.remote_addr = address;
        wr->wr.atomic.rkey = rkey;
        wr->wr.atomic.compare_add = UINT64_C(0x0202020202020202);
        wr->wr.atomic.swap = 7;
    } else {
        wr->wr.rdma.remote_addr = address;
        wr->wr.rdma.rkey = rkey;
    }
}

/* The operation, and one behind it that is right. False: the library refuses
 * the first one. */
static bool post_both(struct pair *pair, const struct row *row,
                      struct ibv_ah *ah)
{
    struct ibv_sge sge = {.addr = (uintptr_t)pair->a.memory,
                          .length = row->bytes,
                          .lkey = pair->a.mr->lkey ^ row->lkey};
    struct ibv_send_wr second = {.opcode = IBV_WR_RDMA_WRITE, .wr_id = 1};
    struct ibv_send_wr first = {.sg_list = &sge,
                                .num_sge = row->bytes > 0,
                                .opcode = row->opcode,
                                .imm_data = 42,
                                .send_flags = row->flags};
    struct ibv_send_wr *bad;

    aim(pair, row, ah, &first);
    if (row->service == IBV_QPT_RC) {
        aim(pair, &rows[0], ah, &second);
        first.next = &second;
    }
    if (row->gone) {
        ibv_dereg_mr(pair->b.mr);
        pair->b.mr = NULL;
    }
    if (ibv_post_send(pair->a.qp, &first, &bad) == 0)
        return true;
    if (bad != &first)
        fail("a send");
    return false;
}

static struct ibv_wc take(const struct side *side)
{
    struct pollfd ready = {.fd = side->channel->fd, .events = POLLIN};
    struct ibv_wc wc;
    struct ibv_cq *cq;
    void *context;

    for (;;) {
        if (ibv_poll_cq(side->cq, 1, &wc) > 0)
            return wc;
        if (ibv_req_notify_cq(side->cq, 0) != 0)
            fail("arming");
        if (ibv_poll_cq(side->cq, 1, &wc) > 0)
            return wc;
        if (poll(&ready, 1, PATIENCE) <= 0)
            fail("a completion does not come");
        if (ibv_get_cq_event(side->channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    }
}

static const char *state_of(const struct side *side)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS",
                                        "SQD",   "SQE",  "ERR"};
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    if (ibv_query_qp(side->qp, &attr, IBV_QP_STATE, &init) != 0 ||
        (unsigned)attr.qp_state >= sizeof(names) / sizeof(names[0]))
        return "?";
    return names[attr.qp_state];
}

/* Sums, which differ where bytes do. */
static unsigned sum(const uint8_t *memory, size_t bytes)
{
    unsigned sum = 0;

    for (size_t i = 0; i < bytes; i++)
        sum = sum * 31 + memory[i];
    return sum;
}

/* UD puts a GRH before it, which has addresses of the device. */
static void print_data(const struct pair *pair, const struct row *row)
{
    size_t skip = row->service == IBV_QPT_UD ? GRH : 0;

    printf(", a %08x, b %08x %08x", sum(pair->a.memory, BYTES),
           sum(pair->b.memory, HALF), sum(pair->b.memory + HALF + skip, 5000));
}

static void print_receive(const struct pair *pair, const struct row *row)
{
    struct ibv_wc wc = take(&pair->b);

    printf(", receive %s", ibv_wc_status_str(wc.status));
    if (wc.status != IBV_WC_SUCCESS)
        return;
    printf(" opcode %d", (int)wc.opcode);
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM)
        printf(" bytes %u", wc.byte_len);
    if (wc.wc_flags & IBV_WC_WITH_IMM)
        printf(" immediate %u", wc.imm_data);
    if (row->service == IBV_QPT_UD)
        printf(" GRH %d", !!(wc.wc_flags & IBV_WC_GRH));
}

static void print_outcome(struct pair *pair, const struct row *row,
                          struct ibv_ah *ah)
{
    if (!post_both(pair, row, ah)) {
        printf("%s: refused, when it is posted\n", row->name);
        return;
    }
    printf("%s: %s", row->name, ibv_wc_status_str(take(&pair->a).status));
    if (row->service == IBV_QPT_RC)
        printf(", then %s", ibv_wc_status_str(take(&pair->a).status));
    if (row->receive)
        print_receive(pair, row);
    printf(", %s %s", state_of(&pair->a), state_of(&pair->b));
    print_data(pair, row);
    printf("\n");
}

static void run_row(struct pair *pair, const struct row *row)
{
    struct ibv_ah_attr path = path_to(pair);
    struct ibv_ah *ah;

    open_side(pair, &pair->a, row, ALL);
    open_side(pair, &pair->b, row, ALL & ~row->deny);
    connect_pair(pair, row);
    ah = check(ibv_create_ah(pair->a.pd, &path), "no AH");
    if (row->receive)
        post_receive(&pair->b, row->receive);
    print_outcome(pair, row, ah);
    fflush(stdout);
    ibv_destroy_ah(ah);
    close_side(&pair->a);
    close_side(&pair->b);
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_port_attr port;
    struct pair pair = {0};

    if (!list || !list[0])
        fail("no device");
    pair.context = check(ibv_open_device(list[0]), "the device does not open");
    if (ibv_query_port(pair.context, PORT, &port) != 0 ||
        ibv_query_gid(pair.context, PORT, 0, &pair.gid) != 0)
        fail("no port, or no GID");
    pair.lid = port.lid;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        run_row(&pair, &rows[i]);
    ibv_close_device(pair.context);
    ibv_free_device_list(list);
    return 0;
}
