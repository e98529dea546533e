/* Messages that standing kernels copy; see order.h. */
#include "shim/gds/stream/order.h"

#include "shim/base/fault.h"
#include "shim/gds/stream/gstream.h"

int mgds_orders_init(struct mgds_orders *orders, struct mgds_syncwords *words,
                     uint64_t *desk)
{
    uint64_t *record;
    int rc = mgds_syncwords_take(&record, words);

    if (rc < 0)
        return rc;
    orders->desk = (struct mgds_desk *)(void *)desk;
    orders->record = (struct mgds_order *)(void *)record;
    orders->last = MGDS_COUNT_FROM;
    __atomic_store_n(&orders->desk->record, (uintptr_t)record,
                     __ATOMIC_RELAXED);
    return 0;
}

void mgds_orders_cell(struct mgds_orders *orders, const struct mgds_cell *cell)
{
    __atomic_store_n(&orders->desk->busy, (uintptr_t)&cell->busy,
                     __ATOMIC_RELAXED);
}

void mgds_orders_fini(struct mgds_orders *orders, struct mgds_syncwords *words)
{
    mgds_syncwords_give(words, (uint64_t *)(void *)orders->record);
}

/* Each behind the 0 that took the last order back: who reads a word of the next
 * one finds that the last is not given any more. */
static void store_word(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void write_record(struct mgds_order *record,
                         const struct mgds_command *take)
{
    store_word(&record->dst, (uintptr_t)take->user);
    store_word(&record->bytes,
               take->length < take->bytes ? take->length : take->bytes);
    store_word(&record->unit, (uintptr_t)take->units);
    store_word(&record->serial, take->serial);
    store_word(&record->source, take->source);
    store_word(&record->done, take->done);
    store_word(&record->claim, (uintptr_t)take->claim);
    store_word(&record->gen, take->gen);
}

uint64_t mgds_orders_give(struct mgds_orders *orders,
                          const struct mgds_command *take)
{
    if (__atomic_load_n(&orders->desk->order, __ATOMIC_RELAXED))
        return 0;
    write_record(orders->record, take);
    store_word(&orders->desk->order, ++orders->last);
    return orders->last;
}

void mgds_orders_take_back(struct mgds_orders *orders)
{
    store_word(&orders->desk->order, 0);
}

bool mgds_orders_served(const struct mgds_orders *orders, uint64_t number)
{
    return __atomic_load_n(&orders->desk->served, __ATOMIC_ACQUIRE) == number;
}
