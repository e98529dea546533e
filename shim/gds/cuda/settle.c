/* Synchronous writes that are not over yet; see settle.h. */
#include "shim/gds/cuda/settle.h"

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

enum { PLACES = 256 };

/* Ids of allocations that were set, which are never used again: one that loses
 * its place to another is set again; atomic. */
static uint64_t settled[PLACES];

/* Mapped memory has none (H100, driver 580: NOT_SUPPORTED); what was imported
 * is its exporter's. */
static bool has_attribute(enum mgds_ptr_kind kind)
{
    return kind == MGDS_PTR_DEVICE || kind == MGDS_PTR_POOL;
}

/* Refused or not: it is asked once. */
static void set_attribute(const struct mgds_driver *driver,
                          const struct mgds_ptr *ptr)
{
    const unsigned on = 1;
    struct mgds_context *ctx;

    if (mgds_context_of_ptr(&ctx, ptr) < 0)
        return;
    if (mgds_context_enter(ctx) == 0) {
        mgds_cu(driver->cuPointerSetAttribute(
            &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, ptr->base));
        mgds_context_leave();
    }
    mgds_context_put(ctx);
}

void mgds_settle(const struct mgds_ptr *ptr)
{
    const struct mgds_driver *driver = mgds_driver();
    uint64_t *place = &settled[ptr->id % PLACES];

    if (!has_attribute(ptr->kind) || ptr->id == 0 ||
        __atomic_load_n(place, __ATOMIC_RELAXED) == ptr->id ||
        !driver->cuPointerSetAttribute)
        return;
    set_attribute(driver, ptr);
    __atomic_store_n(place, ptr->id, __ATOMIC_RELAXED);
}
