/* Completion queues: entries, laps, events. */
#include "sim/hca/cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hca/doorbell.h"
#include "sim/hca/engine.h"

enum { INDEX_BITS = 24, FIRST_CQN = 1, LAST_CQN = 0xffff };

/* No program writes it: two bits of it are none of an arm word. */
#define NEVER_ARMED 0xc0000000u

static bool is_valid_cq(const struct mgds_hca_cq_attr *attr)
{
    return attr->buffer && (uintptr_t)attr->buffer % MGDS_CQE_BYTES == 0 &&
           attr->record && (uintptr_t)attr->record % sizeof(uint64_t) == 0 &&
           attr->entries > 0 && (attr->entries & (attr->entries - 1)) == 0 &&
           attr->entries < 1u << INDEX_BITS &&
           (attr->entry_bytes == MGDS_CQE_BYTES ||
            attr->entry_bytes == 2 * MGDS_CQE_BYTES);
}

int mgds_hca_cq_attach(struct mgds_hca *hca,
                       const struct mgds_hca_cq_attr *attr,
                       struct mgds_hca_cq **out)
{
    struct mgds_hca_cq *cq;

    if (!is_valid_cq(attr))
        return -EINVAL;
    cq = malloc(sizeof(*cq));
    if (!cq)
        return -ENOMEM;
    *cq = (struct mgds_hca_cq){.hca = hca, .attr = *attr, .arm = NEVER_ARMED};
    cq->number = mgds_hca_table_add(&hca->cqs, cq, FIRST_CQN, LAST_CQN);
    if (cq->number == 0) {
        free(cq);
        return -ENOMEM;
    }
    /* So that the first arm word is seen to be new though it is 0, as the
     * record is before. Nobody reads it but us. */
    attr->record[MGDS_DBREC_ARM] = mgds_to_be32(NEVER_ARMED);
    if (attr->uar)
        mgds_hca_uar_add_cq(attr->uar, cq);
    *out = cq;
    return 0;
}

int mgds_hca_cq_detach(struct mgds_hca_cq *cq)
{
    if (cq->users)
        return -EBUSY;
    if (cq->attr.uar)
        mgds_hca_uar_drop_cq(cq->attr.uar, cq);
    mgds_hca_table_drop(&cq->hca->cqs, cq->number);
    free(cq);
    return 0;
}

static uint32_t load_record(const struct mgds_hca_cq *cq, unsigned word)
{
    struct mgds_be32 be;

    /* What the program did before it stored the word comes before what is
     * done here: it has read the entries that it gives back. */
    be.raw = __atomic_load_n(&cq->attr.record[word].raw, __ATOMIC_ACQUIRE);
    return mgds_from_be32(be);
}

/* Steps from one index to a later one. */
static uint32_t distance(uint32_t from, uint32_t to)
{
    return (to - from) & MGDS_ARM_INDEX_MASK;
}

static bool finds_no_room(const struct mgds_hca_cq *cq)
{
    if (cq->attr.ignore_overrun)
        return false;
    if (cq->hca->overrun > 0 && --cq->hca->overrun == 0)
        return true;
    return distance(load_record(cq, MGDS_DBREC_CONSUMER), cq->produced) >=
           cq->attr.entries;
}

static struct mgds_cqe *next_entry(const struct mgds_hca_cq *cq)
{
    uint32_t index = cq->produced & (cq->attr.entries - 1);
    uint8_t *entry = cq->attr.buffer;

    if (!cq->attr.collapsed)
        entry += (size_t)index * cq->attr.entry_bytes;
    return (struct mgds_cqe *)(entry + cq->attr.entry_bytes - MGDS_CQE_BYTES);
}

static uint8_t owner_bit(const struct mgds_hca_cq *cq)
{
    return !cq->attr.collapsed && cq->produced & cq->attr.entries;
}

static bool is_error(const struct mgds_hca_completion *it)
{
    return it->opcode == MGDS_CQE_REQUEST_ERROR ||
           it->opcode == MGDS_CQE_RECEIVE_ERROR;
}

/* All of a CQE but its op_own. */
static struct mgds_cqe make_cqe(const struct mgds_hca_cq *cq,
                                const struct mgds_hca_completion *it)
{
    return (struct mgds_cqe){
        .slid = mgds_to_be16(it->lid),
        .flags_rqpn = mgds_to_be32(it->peer),
        .srqn_uidx = mgds_to_be32(it->user_index),
        .imm = it->imm,
        .bytes = mgds_to_be32(it->bytes),
        .timestamp = mgds_to_be64(mgds_hca_now(cq->hca)),
        .opcode_qpn = mgds_to_be32((uint32_t)it->wqe_opcode << 24 | it->qpn),
        .wqe_counter = mgds_to_be16(it->counter),
    };
}

static struct mgds_cqe make_error_cqe(const struct mgds_hca_completion *it)
{
    struct mgds_cqe_error error = {
        .srqn_uidx = mgds_to_be32(it->user_index),
        .vendor_syndrome = it->vendor,
        .syndrome = it->syndrome,
        .opcode_qpn = mgds_to_be32((uint32_t)it->wqe_opcode << 24 | it->qpn),
        .wqe_counter = mgds_to_be16(it->counter),
    };
    struct mgds_cqe cqe;

    memcpy(&cqe, &error, sizeof(cqe));
    return cqe;
}

/* A collapsed queue's entry stays valid while it is overwritten, as on
 * hardware. */
static void store_cqe(struct mgds_cqe *to, const struct mgds_cqe *cqe)
{
    enum { LAST = offsetof(struct mgds_cqe, wqe_counter) };
    const uint8_t *bytes = (const uint8_t *)cqe;
    uint32_t word;

    for (size_t at = 0; at < LAST; at += sizeof(word)) {
        memcpy(&word, bytes + at, sizeof(word));
        __atomic_store_n((uint32_t *)((uint8_t *)to + at), word,
                         __ATOMIC_RELAXED);
    }
    /* Publishes the entry, and payload that was placed before it. Counter and
     * op_own change together: who polls a collapsed queue must not see the
     * counter of an error under the opcode of a success. */
    memcpy(&word, bytes + LAST, sizeof(word));
    __atomic_store_n((uint32_t *)((uint8_t *)to + LAST), word,
                     __ATOMIC_RELEASE);
}

/* The event, if the program waits for what is there. */
static void tell_if_armed(struct mgds_hca_cq *cq)
{
    uint32_t index = cq->arm & MGDS_ARM_INDEX_MASK;
    uint32_t end = cq->arm & MGDS_ARM_SOLICITED ? cq->eventful : cq->produced;
    uint32_t ahead = distance(index, end);

    if (!cq->armed || ahead == 0 || ahead > 1u << (INDEX_BITS - 1))
        return;
    cq->armed = false;
    mgds_hca_tell_completion(cq->hca, cq->number);
}

bool mgds_hca_cq_write(struct mgds_hca_cq *cq,
                       const struct mgds_hca_completion *it)
{
    struct mgds_cqe cqe;

    if (cq->error)
        return false;
    if (finds_no_room(cq)) {
        cq->error = true;
        mgds_hca_tell_event(cq->hca, MGDS_EVENT_CQ_ERR, cq->number);
        return false;
    }
    cqe = is_error(it) ? make_error_cqe(it) : make_cqe(cq, it);
    cqe.op_own =
        (uint8_t)(it->opcode << MGDS_CQE_OPCODE_SHIFT |
                  (it->solicited ? MGDS_CQE_SOLICITED : 0) | owner_bit(cq));
    store_cqe(next_entry(cq), &cqe);
    cq->produced++;
    if (it->solicited || it->event || is_error(it))
        cq->eventful = cq->produced;
    tell_if_armed(cq);
    return true;
}

void mgds_hca_cq_arm(struct mgds_hca_cq *cq, bool named)
{
    uint32_t arm = load_record(cq, MGDS_DBREC_ARM);

    if (!named && arm == cq->arm)
        return;
    cq->arm = arm;
    cq->armed = true;
    tell_if_armed(cq);
}
