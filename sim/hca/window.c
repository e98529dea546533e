/* Memory windows: binding, invalidating and using them. */
#include "sim/hca/window.h"

#include "sim/hca/qp.h"

/* The bits that a bind's mask has in any case, and those of memory that it
 * names. */
static const uint64_t mask_of_key = MGDS_UMR_MASK_FREE | MGDS_UMR_MASK_KEY;
static const uint64_t mask_of_memory =
    MGDS_UMR_MASK_BYTES | MGDS_UMR_MASK_ADDRESS | MGDS_UMR_MASK_LOCAL_WRITE |
    MGDS_UMR_MASK_REMOTE_READ | MGDS_UMR_MASK_REMOTE_WRITE |
    MGDS_UMR_MASK_ATOMIC;

enum { KEY_BITS = 8, VARIANT_MASK = (1 << KEY_BITS) - 1 };

static uint8_t access_of(uint8_t mkey)
{
    return (
        uint8_t)((mkey & MGDS_MKEY_LOCAL_WRITE ? MGDS_HCA_LOCAL_WRITE : 0) |
                 (mkey & MGDS_MKEY_REMOTE_READ ? MGDS_HCA_REMOTE_READ : 0) |
                 (mkey & MGDS_MKEY_REMOTE_WRITE ? MGDS_HCA_REMOTE_WRITE : 0) |
                 (mkey & MGDS_MKEY_ATOMIC ? MGDS_HCA_REMOTE_ATOMIC : 0));
}

/* True if the two headers say of a bind what they must. */
static bool is_header(const struct mgds_hca_qp *qp,
                      const struct mgds_wqe_umr *umr,
                      const struct mgds_wqe_mkey *mkey,
                      const struct mgds_hca_bind *bind)
{
    bool second = bind->type == MGDS_WINDOW_2, binds = bind->to.bytes > 0;
    uint8_t flags = MGDS_UMR_INLINE | MGDS_UMR_OFFSET;
    uint64_t mask = mask_of_key;
    uint32_t qpn = MGDS_MKEY_ANY_QPN;

    if (second)
        flags |= binds ? MGDS_UMR_CHECK_FREE : MGDS_UMR_CHECK_QPN;
    if (second)
        mask |= MGDS_UMR_MASK_QPN;
    if (binds)
        mask |= mask_of_memory;
    if (second && binds)
        qpn = qp->number;
    return umr->flags == flags && mgds_from_be64(umr->mask) == mask &&
           mgds_from_be16(umr->offset) == 0 &&
           mgds_from_be16(umr->klm_units) ==
               (binds ? MGDS_WQE_BLOCK_UNITS : 0) &&
           mkey->free == (binds ? 0 : MGDS_MKEY_FREE) &&
           mgds_from_be32(mkey->qpn_key) >> KEY_BITS == qpn;
}

/* Fields of the key that do not count are not looked at. */
enum mgds_hca_cause mgds_hca_bind_decode(const struct mgds_hca_qp *qp,
                                         const struct mgds_wqe_umr *umr,
                                         const struct mgds_wqe_mkey *mkey,
                                         const struct mgds_wqe_data *memory,
                                         struct mgds_hca_bind *bind)
{
    uint64_t mask = mgds_from_be64(umr->mask);

    bind->type = mask & MGDS_UMR_MASK_QPN ? MGDS_WINDOW_2 : MGDS_WINDOW_1;
    bind->variant = (uint8_t)mgds_from_be32(mkey->qpn_key);
    bind->to = (struct mgds_hca_binding){.bytes = 0};
    if (mask & MGDS_UMR_MASK_BYTES)
        bind->to = (struct mgds_hca_binding){
            .address = mgds_from_be64(mkey->address),
            .bytes = mgds_from_be64(mkey->bytes),
            .region = mgds_from_be32(memory->lkey),
            .inside = mgds_from_be64(memory->address),
            .access = access_of(mkey->access),
        };
    if (!is_header(qp, umr, mkey, bind) ||
        (bind->to.bytes > 0 &&
         mgds_from_be32(memory->bytes) != bind->to.bytes) ||
        bind->to.address + bind->to.bytes < bind->to.address)
        return MGDS_CAUSE_WQE_UMR;
    return MGDS_CAUSE_NONE;
}

static bool is_bound(const struct mgds_hca_window *window)
{
    return window->to.bytes > 0;
}

/* The region may be bound, and written if the window may. */
static enum mgds_hca_cause check_region(const struct mgds_hca_qp *qp,
                                        const struct mgds_hca_binding *to)
{
    static const enum mgds_hca_cause causes[MGDS_FAULTS + 1] = {
        [MGDS_FAULT_KEY] = MGDS_CAUSE_WINDOW_REGION,
        [MGDS_FAULT_PD] = MGDS_CAUSE_WINDOW_PD,
        [MGDS_FAULT_WINDOW] = MGDS_CAUSE_WINDOW_REGION,
        [MGDS_FAULT_BOUNDS] = MGDS_CAUSE_WINDOW_BOUNDS,
        [MGDS_FAULT_ACCESS] = MGDS_CAUSE_WINDOW_ACCESS,
    };
    uint8_t written = MGDS_HCA_REMOTE_WRITE | MGDS_HCA_REMOTE_ATOMIC;
    struct mgds_hca_span span = {
        .pd = qp->attr.pd,
        .key = to->region,
        .address = to->inside,
        .bytes = to->bytes,
        .access = MGDS_HCA_WINDOW_BIND,
    };
    void *unused;

    if (to->access & written)
        span.access |= MGDS_HCA_LOCAL_WRITE;
    return causes[mgds_hca_key_find(qp->hca, &span, &unused)];
}

static enum mgds_hca_cause check_window(const struct mgds_hca_qp *qp,
                                        const struct mgds_hca_bind *bind,
                                        const struct mgds_hca_window *window,
                                        uint32_t number)
{
    bool binds = bind->to.bytes > 0;

    if (window->type != bind->type || (is_bound(window) && number != bind->key))
        return MGDS_CAUSE_WINDOW_KEY;
    if (window->pd != qp->attr.pd)
        return MGDS_CAUSE_WINDOW_PD;
    if (window->type == MGDS_WINDOW_1)
        return MGDS_CAUSE_NONE;
    if (binds && is_bound(window))
        return MGDS_CAUSE_WINDOW_BOUND;
    if (!binds && (!is_bound(window) || window->qpn != qp->number))
        return MGDS_CAUSE_WINDOW_QP;
    return MGDS_CAUSE_NONE;
}

enum mgds_hca_cause mgds_hca_window_bind(const struct mgds_hca_qp *qp,
                                         const struct mgds_hca_bind *bind)
{
    uint32_t *number;
    struct mgds_hca_window *window =
        mgds_hca_key_window(qp->hca, bind->key, &number);
    enum mgds_hca_cause cause;

    if (!window)
        return MGDS_CAUSE_WINDOW_KEY;
    cause = check_window(qp, bind, window, *number);
    if (!cause && bind->to.bytes > 0)
        cause = check_region(qp, &bind->to);
    if (cause)
        return cause;
    window->to = bind->to;
    window->qpn = qp->number;
    *number = (*number & ~(uint32_t)VARIANT_MASK) | bind->variant;
    return MGDS_CAUSE_NONE;
}

enum mgds_hca_cause mgds_hca_window_invalidate(const struct mgds_hca_qp *qp,
                                               uint32_t key)
{
    uint32_t *number;
    struct mgds_hca_window *window = mgds_hca_key_window(qp->hca, key, &number);

    if (!window || window->type != MGDS_WINDOW_2 || !is_bound(window) ||
        *number != key || window->pd != qp->attr.pd ||
        window->qpn != qp->number)
        return MGDS_CAUSE_INVALIDATE_KEY;
    window->to.bytes = 0;
    return MGDS_CAUSE_NONE;
}

enum mgds_hca_fault mgds_hca_window_find(const struct mgds_hca *hca,
                                         const struct mgds_hca_window *window,
                                         const struct mgds_hca_span *span,
                                         void **at)
{
    const struct mgds_hca_binding *to = &window->to;
    uint64_t offset = span->address - to->address; /* wraps in front of it */
    struct mgds_hca_span inside = {
        .pd = span->pd,
        .key = to->region,
        .address = to->inside + offset,
        .bytes = span->bytes,
        .access =
            span->access & ~MGDS_HCA_REMOTE_READ ? MGDS_HCA_LOCAL_WRITE : 0,
    };

    if (!is_bound(window) || span->qpn == 0)
        return MGDS_FAULT_KEY;
    if (window->pd != span->pd)
        return MGDS_FAULT_PD;
    if (window->type == MGDS_WINDOW_2 && window->qpn != span->qpn)
        return MGDS_FAULT_WINDOW;
    if (offset > to->bytes || span->bytes > to->bytes - offset)
        return MGDS_FAULT_BOUNDS;
    if (span->access & ~to->access)
        return MGDS_FAULT_ACCESS;
    return mgds_hca_key_find(hca, &inside, at);
}
