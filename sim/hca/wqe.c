/* Decoding and checking WQEs. */
#include "sim/hca/wqe.h"

#include <stdbool.h>
#include <string.h>

#include "sim/hca/engine.h"
#include "sim/hca/key.h"
#include "sim/hca/qp.h"
#include "sim/hca/srq.h"

enum {
    QPN_MASK = 0xffffff,
    FLOW_LABEL_MASK = 0xfffff,
    GID_INDEX_SHIFT = 20,
    SL_MASK = 0xf
};

/* A Q_Key that says: the QP's own (InfiniBand, 10.2.5). */
#define QKEY_OF_QP 0x80000000u

/* Zero in a data segment. No source says so for a ConnectX; libmlx5 leaves
 * empty elements out. */
#define BYTES_OF_ZERO (UINT64_C(1) << 31)

/* Where a decoder stands in a WQE. */
struct reader {
    const struct mgds_hca_qp *qp;
    unsigned unit;  /* the next one */
    unsigned units; /* of the WQE */
};

static const enum mgds_hca_cause local_causes[MGDS_FAULTS + 1] = {
    [MGDS_FAULT_KEY] = MGDS_CAUSE_LOCAL_KEY,
    [MGDS_FAULT_PD] = MGDS_CAUSE_LOCAL_PD,
    [MGDS_FAULT_WINDOW] = MGDS_CAUSE_LOCAL_KEY,
    [MGDS_FAULT_BOUNDS] = MGDS_CAUSE_LOCAL_BOUNDS,
    [MGDS_FAULT_ACCESS] = MGDS_CAUSE_LOCAL_ACCESS,
};

static const enum mgds_hca_cause receive_causes[MGDS_FAULTS + 1] = {
    [MGDS_FAULT_KEY] = MGDS_CAUSE_RECEIVE_KEY,
    [MGDS_FAULT_PD] = MGDS_CAUSE_RECEIVE_PD,
    [MGDS_FAULT_WINDOW] = MGDS_CAUSE_RECEIVE_KEY,
    [MGDS_FAULT_BOUNDS] = MGDS_CAUSE_RECEIVE_BOUNDS,
    [MGDS_FAULT_ACCESS] = MGDS_CAUSE_RECEIVE_ACCESS,
};

/* A byte of the WQE at the head, counted from its start. */
static uint8_t *ring_byte(const struct mgds_hca_qp *qp, size_t offset)
{
    size_t bytes = (size_t)qp->attr.send_blocks * MGDS_WQE_BLOCK;
    size_t start = (size_t)qp->send.head * MGDS_WQE_BLOCK;

    return (uint8_t *)qp->attr.send_buffer + ((start + offset) & (bytes - 1));
}

static void read_unit(const struct reader *in, unsigned unit, void *to)
{
    memcpy(to, ring_byte(in->qp, (size_t)unit * MGDS_WQE_UNIT), MGDS_WQE_UNIT);
}

static uint16_t blocks_of(unsigned units)
{
    unsigned blocks = (units + MGDS_WQE_BLOCK_UNITS - 1) / MGDS_WQE_BLOCK_UNITS;

    return (uint16_t)(blocks ? blocks : 1);
}

static uint16_t rung_blocks(const struct mgds_hca_qp *qp)
{
    return (uint16_t)(qp->send.limit - qp->send.head);
}

/* Memory that a data segment names, appended to the list. */
static enum mgds_hca_fault add_memory(const struct mgds_hca *hca, uint32_t pd,
                                      const struct mgds_wqe_data *data,
                                      uint8_t access,
                                      struct mgds_hca_list *list)
{
    struct mgds_hca_span span = {
        .pd = pd,
        .key = mgds_from_be32(data->lkey),
        .address = mgds_from_be64(data->address),
        .bytes = mgds_from_be32(data->bytes),
        .access = access,
    };
    enum mgds_hca_fault fault;
    void *memory;

    if (span.bytes == 0)
        span.bytes = BYTES_OF_ZERO;
    fault = mgds_hca_key_find(hca, &span, &memory);
    if (fault == MGDS_FAULT_NONE)
        mgds_hca_list_add(list, memory, span.bytes);
    return fault;
}

/* Inline data stays in the ring: a piece, or two around its end. */
static enum mgds_hca_cause read_inline(struct reader *in, uint32_t word,
                                       struct mgds_hca_list *list)
{
    size_t offset = (size_t)in->unit * MGDS_WQE_UNIT + sizeof(word);
    size_t bytes = word & ~MGDS_WQE_INLINE_FLAG;
    size_t ring = (size_t)in->qp->attr.send_blocks * MGDS_WQE_BLOCK;
    uint8_t *from = ring_byte(in->qp, offset);
    size_t straight =
        ring - (size_t)(from - (uint8_t *)in->qp->attr.send_buffer);

    if (bytes > (size_t)in->units * MGDS_WQE_UNIT - offset)
        return MGDS_CAUSE_WQE_INLINE;
    straight = bytes < straight ? bytes : straight;
    mgds_hca_list_add(list, from, straight);
    if (bytes > straight)
        mgds_hca_list_add(list, in->qp->attr.send_buffer, bytes - straight);
    in->unit = (unsigned)((offset + bytes + MGDS_WQE_UNIT - 1) / MGDS_WQE_UNIT);
    return MGDS_CAUSE_NONE;
}

/* All segments that are left name memory. */
static enum mgds_hca_cause read_list(struct reader *in,
                                     enum mgds_hca_segment kind,
                                     struct mgds_hca_list *list)
{
    uint8_t access = kind == MGDS_SEGMENT_SCATTER ? MGDS_HCA_LOCAL_WRITE : 0;
    enum mgds_hca_cause cause = MGDS_CAUSE_NONE;
    struct mgds_wqe_data data;
    uint32_t word;

    while (in->unit < in->units && cause == MGDS_CAUSE_NONE) {
        read_unit(in, in->unit, &data);
        word = mgds_from_be32(data.bytes);
        if (!(word & MGDS_WQE_INLINE_FLAG)) {
            cause = local_causes[add_memory(in->qp->hca, in->qp->attr.pd, &data,
                                            access, list)];
            in->unit++;
        } else if (kind == MGDS_SEGMENT_GATHER) {
            cause = read_inline(in, word, list);
        } else {
            cause = MGDS_CAUSE_WQE_INLINE;
        }
    }
    return cause;
}

/* RoCE has nothing but global addresses, whatever a WQE says: UCX says none. */
static void fill_av(const struct mgds_hca_qp *qp, const struct mgds_wqe_av *raw,
                    struct mgds_hca_av *av)
{
    uint32_t grh = mgds_from_be32(raw->grh);
    uint32_t qkey = mgds_from_be32(raw->key.ud.qkey);

    *av = (struct mgds_hca_av){
        .address = {.global = grh & MGDS_AV_GRH || qp->hca->config.ethernet},
        .qpn = mgds_from_be32(raw->qpn) & QPN_MASK,
        .qkey = qkey & QKEY_OF_QP ? qp->set.qkey : qkey,
        .dc_key = mgds_from_be64(raw->key.dc_key),
        .flow_label = grh & FLOW_LABEL_MASK,
        .traffic_class = raw->traffic_class,
        .hop_limit = raw->hop_limit,
        .gid_index = (uint8_t)(grh >> GID_INDEX_SHIFT),
        .sl = raw->rate_sl & SL_MASK,
    };
    if (!qp->hca->config.ethernet)
        av->address.lid = mgds_from_be16(raw->lid);
    memcpy(&av->address.gid, raw->gid, sizeof(av->address.gid));
}

/* Its first unit says whether the others are there. */
static enum mgds_hca_cause read_av(struct reader *in, struct mgds_hca_wqe *wqe)
{
    uint8_t raw[sizeof(struct mgds_wqe_av)] = {0};
    struct mgds_wqe_av av;

    for (size_t at = 0; at < sizeof(raw); at += MGDS_WQE_UNIT) {
        if (in->unit == in->units)
            return MGDS_CAUSE_WQE_SIZE;
        read_unit(in, in->unit++, raw + at);
        memcpy(&av, raw, sizeof(av));
        if (!(mgds_from_be32(av.qpn) & MGDS_AV_FULL))
            break;
    }
    fill_av(in->qp, &av, &wqe->av);
    return MGDS_CAUSE_NONE;
}

static enum mgds_hca_cause read_address(struct reader *in,
                                        struct mgds_hca_wqe *wqe)
{
    struct mgds_wqe_raddr raddr;

    if (in->unit == in->units)
        return MGDS_CAUSE_WQE_SIZE;
    read_unit(in, in->unit++, &raddr);
    wqe->address = mgds_from_be64(raddr.address);
    wqe->rkey = mgds_from_be32(raddr.rkey);
    return MGDS_CAUSE_NONE;
}

static enum mgds_hca_cause read_atomic(struct reader *in,
                                       struct mgds_hca_wqe *wqe)
{
    struct mgds_wqe_atomic atomic;

    if (in->unit == in->units)
        return MGDS_CAUSE_WQE_SIZE;
    read_unit(in, in->unit++, &atomic);
    wqe->atomic.operand = mgds_from_be64(atomic.operand);
    wqe->atomic.compare = mgds_from_be64(atomic.compare);
    return MGDS_CAUSE_NONE;
}

/* Bytes of the word of an atomic. */
static uint64_t word_bytes(const struct mgds_hca_wqe *wqe)
{
    return wqe->opmod == MGDS_WQE_MASKED_4 ? sizeof(uint32_t)
                                           : sizeof(uint64_t);
}

/* Numbers of four bytes, or of eight, as they stand there. */
static void read_numbers(struct reader *in, uint64_t size, unsigned count,
                         uint64_t number[])
{
    uint8_t bytes[2 * MGDS_WQE_UNIT];
    struct mgds_be32 be32;
    struct mgds_be64 be64;

    for (size_t at = 0; at < count * size; at += MGDS_WQE_UNIT)
        read_unit(in, in->unit++, bytes + at);
    for (unsigned i = 0; i < count; i++) {
        memcpy(&be32, bytes + i * sizeof(be32), sizeof(be32));
        memcpy(&be64, bytes + i * (size_t)size % sizeof(bytes), sizeof(be64));
        number[i] =
            size == sizeof(be32) ? mgds_from_be32(be32) : mgds_from_be64(be64);
    }
}

static enum mgds_hca_cause read_masked(struct reader *in,
                                       struct mgds_hca_wqe *wqe)
{
    bool adds = wqe->opcode == MGDS_WQE_MASKED_FA;
    uint64_t size = word_bytes(wqe), number[4];
    unsigned count = adds ? 2 : 4;

    if ((size_t)(in->units - in->unit) * MGDS_WQE_UNIT < count * size)
        return MGDS_CAUSE_WQE_SIZE;
    read_numbers(in, size, count, number);
    wqe->atomic.operand = number[0];
    if (adds) {
        wqe->atomic.mask = number[1];
        return MGDS_CAUSE_NONE;
    }
    wqe->atomic.compare = number[1];
    wqe->atomic.mask = number[2];
    wqe->atomic.compare_mask = number[3];
    return MGDS_CAUSE_NONE;
}

/* The memory is there if the header says so, in a block of its own. */
static enum mgds_hca_cause read_umr(struct reader *in, struct mgds_hca_wqe *wqe)
{
    struct {
        struct mgds_wqe_umr umr;
        struct mgds_wqe_mkey mkey;
        struct mgds_wqe_data memory;
        uint8_t padding[MGDS_WQE_BLOCK - MGDS_WQE_UNIT];
    } raw = {.memory = {.address = {0}}};
    unsigned units = in->units - in->unit;
    uint8_t *to = (uint8_t *)&raw;

    if (units != sizeof(raw) / MGDS_WQE_UNIT &&
        units != (sizeof(raw.umr) + sizeof(raw.mkey)) / MGDS_WQE_UNIT)
        return MGDS_CAUSE_WQE_SIZE;
    for (; in->unit < in->units; to += MGDS_WQE_UNIT)
        read_unit(in, in->unit++, to);
    wqe->bind.key = mgds_from_be32(wqe->imm);
    return mgds_hca_bind_decode(in->qp, &raw.umr, &raw.mkey, &raw.memory,
                                &wqe->bind);
}

static enum mgds_hca_cause read_segment(struct reader *in,
                                        enum mgds_hca_segment kind,
                                        struct mgds_hca_wqe *wqe)
{
    switch (kind) {
    case MGDS_SEGMENT_RADDR:
        return read_address(in, wqe);
    case MGDS_SEGMENT_ATOMIC:
        return read_atomic(in, wqe);
    case MGDS_SEGMENT_MASKED:
        return read_masked(in, wqe);
    case MGDS_SEGMENT_GATHER:
    case MGDS_SEGMENT_DUMPED:
    case MGDS_SEGMENT_SCATTER:
        return read_list(in, kind, &wqe->list);
    case MGDS_SEGMENT_UMR:
        return read_umr(in, wqe);
    case MGDS_SEGMENT_REST:
        in->unit = in->units;
        break;
    case MGDS_SEGMENT_NONE:
        break;
    }
    return MGDS_CAUSE_NONE;
}

static bool is_opmod(const struct mgds_hca_wqe *wqe)
{
    if (wqe->row->traits & MGDS_OP_MASKED)
        return wqe->opmod == MGDS_WQE_MASKED_4 ||
               wqe->opmod == MGDS_WQE_MASKED_8;
    return wqe->opmod == 0;
}

static enum mgds_hca_cause check_ctrl(const struct mgds_hca_qp *qp,
                                      const struct mgds_wqe_ctrl *ctrl,
                                      const struct mgds_hca_wqe *wqe)
{
    uint32_t first = mgds_from_be32(ctrl->opmod_idx_opcode);
    uint32_t second = mgds_from_be32(ctrl->qpn_ds);

    if ((first >> 8 & 0xffff) != qp->send.head)
        return MGDS_CAUSE_WQE_INDEX;
    if (!wqe->row->name ||
        !(qp->hca->config.capabilities & wqe->row->capability) ||
        !(wqe->row->services >> qp->attr.service & 1))
        return MGDS_CAUSE_WQE_OPCODE;
    if (!is_opmod(wqe))
        return MGDS_CAUSE_WQE_OPMOD;
    if (second >> 8 != qp->number)
        return MGDS_CAUSE_WQE_QPN;
    if ((second & MGDS_WQE_MAX_UNITS) == 0 || wqe->blocks > rung_blocks(qp))
        return MGDS_CAUSE_WQE_SIZE;
    if ((wqe->flags & MGDS_WQE_FENCE_MASK) > MGDS_WQE_FENCE_BOTH)
        return MGDS_CAUSE_WQE_FENCE;
    return MGDS_CAUSE_NONE;
}

/* A datagram is one packet. */
static enum mgds_hca_cause check_length(const struct mgds_hca_qp *qp,
                                        const struct mgds_hca_wqe *wqe)
{
    uint64_t most = qp->attr.service == MGDS_SERVICE_UD ? MGDS_HCA_MTU_MAX
                                                        : MGDS_HCA_MESSAGE_MAX;

    if (wqe->list.bytes > most)
        return MGDS_CAUSE_LENGTH_LIMIT;
    if (wqe->row->traits & MGDS_OP_ATOMIC && wqe->list.bytes != word_bytes(wqe))
        return MGDS_CAUSE_ATOMIC_LENGTH;
    return MGDS_CAUSE_NONE;
}

/* Opcode, flags, size and immediate; returns DS. */
static unsigned read_ctrl(const struct mgds_hca_qp *qp,
                          struct mgds_wqe_ctrl *ctrl, struct mgds_hca_wqe *wqe)
{
    unsigned units;

    memcpy(ctrl, ring_byte(qp, 0), sizeof(*ctrl));
    units = mgds_from_be32(ctrl->qpn_ds) & MGDS_WQE_MAX_UNITS;
    wqe->opcode = (uint8_t)mgds_from_be32(ctrl->opmod_idx_opcode);
    wqe->opmod = (uint8_t)(mgds_from_be32(ctrl->opmod_idx_opcode) >> 24);
    wqe->row = mgds_hca_opcode(wqe->opcode);
    wqe->flags = ctrl->fm_ce_se;
    wqe->blocks = blocks_of(units);
    wqe->imm = ctrl->imm;
    return units;
}

/* What was not rung for is not the WQE's. */
static void clamp_blocks(const struct mgds_hca_qp *qp, struct mgds_hca_wqe *wqe)
{
    if (wqe->blocks > rung_blocks(qp))
        wqe->blocks = rung_blocks(qp);
}

bool mgds_hca_wqe_has_av(const struct mgds_hca_qp *qp,
                         const struct mgds_hca_wqe *wqe)
{
    return (qp->attr.service == MGDS_SERVICE_UD ||
            qp->attr.service == MGDS_SERVICE_DCI) &&
           !(wqe->row->traits & MGDS_OP_LOCAL);
}

enum mgds_hca_cause mgds_hca_wqe_decode(const struct mgds_hca_qp *qp,
                                        struct mgds_hca_wqe *wqe)
{
    struct reader in = {.qp = qp, .unit = 1};
    struct mgds_wqe_ctrl ctrl;
    enum mgds_hca_cause cause;

    in.units = read_ctrl(qp, &ctrl, wqe);
    wqe->address = 0;
    wqe->atomic = (struct mgds_hca_operands){.operand = 0};
    wqe->rkey = 0;
    mgds_hca_list_init(&wqe->list);
    cause = check_ctrl(qp, &ctrl, wqe);
    clamp_blocks(qp, wqe);
    if (!cause && mgds_hca_wqe_has_av(qp, wqe))
        cause = read_av(&in, wqe);
    for (unsigned i = 0; i < MGDS_HCA_SEGMENTS && !cause; i++)
        cause = read_segment(&in, wqe->row->segment[i], wqe);
    return cause ? cause : check_length(qp, wqe);
}

void mgds_hca_wqe_skim(const struct mgds_hca_qp *qp, struct mgds_hca_wqe *wqe)
{
    struct mgds_wqe_ctrl ctrl;

    read_ctrl(qp, &ctrl, wqe);
    clamp_blocks(qp, wqe);
}

/* The elements of a receive WQE. */
struct elements {
    const uint8_t *at;
    size_t bytes;
    uint32_t pd;
};

static struct elements elements_of(const struct mgds_hca_qp *qp)
{
    const struct mgds_hca_srq *srq = qp->attr.srq;
    size_t slot = qp->receive.index;

    if (srq)
        return (struct elements){
            .at = (const uint8_t *)srq->attr.buffer + slot * srq->attr.stride +
                  sizeof(struct mgds_wqe_next),
            .bytes = srq->attr.stride - sizeof(struct mgds_wqe_next),
            .pd = srq->attr.pd};
    slot &= qp->attr.receives - 1;
    return (struct elements){.at = (const uint8_t *)qp->attr.receive_buffer +
                                   slot * qp->attr.receive_stride,
                             .bytes = qp->attr.receive_stride,
                             .pd = qp->attr.pd};
}

enum mgds_hca_cause mgds_hca_receive_decode(const struct mgds_hca_qp *qp,
                                            struct mgds_hca_list *list)
{
    struct elements in = elements_of(qp);
    enum mgds_hca_cause cause = MGDS_CAUSE_NONE;
    struct mgds_wqe_data data;

    mgds_hca_list_init(list);
    for (size_t offset = 0; offset < in.bytes && !cause;
         offset += MGDS_WQE_UNIT) {
        memcpy(&data, in.at + offset, sizeof(data));
        if (mgds_from_be32(data.lkey) == MGDS_WQE_INVALID_LKEY &&
            data.bytes.raw == 0)
            break;
        if (mgds_from_be32(data.bytes) & MGDS_WQE_INLINE_FLAG)
            cause = MGDS_CAUSE_RECEIVE_LIST;
        else
            cause = receive_causes[add_memory(qp->hca, in.pd, &data,
                                              MGDS_HCA_LOCAL_WRITE, list)];
    }
    return cause;
}
