/* What a buffer is; see ptr.h for what each way costs. */
#include "shim/gds/cuda/ptr.h"

#include <errno.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/ptrcache.h"
#include "shim/gds/cuda/result.h"

/* The attributes of one question; all are older than the least driver. */
#define ATTRIBUTES(X)                                                          \
    X(TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)                                  \
    X(MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED)                                \
    X(CONTEXT, CU_POINTER_ATTRIBUTE_CONTEXT)                                   \
    X(DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)                             \
    X(BUFFER, CU_POINTER_ATTRIBUTE_BUFFER_ID)                                  \
    X(BASE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)                             \
    X(SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE)                                   \
    X(MAPPING_BASE, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)                    \
    X(MAPPING_SIZE, CU_POINTER_ATTRIBUTE_MAPPING_SIZE)                         \
    X(LEGACY_IPC, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)             \
    X(HANDLES, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES)                      \
    X(POOL, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)

enum {
#define X(name, attribute) name,
    ATTRIBUTES(X)
#undef X
        COUNT
};

/* What the driver answered. Attributes differ in width, none is wider; the
 * rest stays zero (little-endian, as every host with this driver). */
struct answer {
    uint64_t value[COUNT];
};

static int ask_driver(const struct mgds_driver *driver, struct answer *answer,
                      uintptr_t addr)
{
    CUpointer_attribute attributes[COUNT] = {
#define X(name, attribute) attribute,
        ATTRIBUTES(X)
#undef X
    };
    void *places[COUNT];

    *answer = (struct answer){{0}};
    for (int i = 0; i < COUNT; i++)
        places[i] = &answer->value[i];
    return mgds_cu(
        driver->cuPointerGetAttributes(COUNT, attributes, places, addr));
}

/* Host memory that CUDA does not know has no type. */
static enum mgds_ptr_kind kind_of(const struct answer *answer)
{
    const uint64_t *value = answer->value;

    if ((unsigned char)value[MANAGED])
        return MGDS_PTR_MANAGED;
    if (value[TYPE] == CU_MEMORYTYPE_HOST)
        return MGDS_PTR_PINNED;
    if (value[TYPE] != CU_MEMORYTYPE_DEVICE)
        return MGDS_PTR_HOST;
    if (value[POOL])
        return MGDS_PTR_POOL;
    if ((unsigned char)value[LEGACY_IPC])
        return MGDS_PTR_DEVICE;
    return value[CONTEXT] ? MGDS_PTR_IMPORTED : MGDS_PTR_VMM;
}

/* The range of VMM memory is the whole reservation, gaps included (H100, driver
 * 580): there the mapping is what one can rely on. */
static void describe_ptr(struct mgds_ptr *out, const struct answer *answer)
{
    const uint64_t *value = answer->value;
    enum mgds_ptr_kind kind = kind_of(answer);
    bool mapped = kind == MGDS_PTR_VMM;

    *out = (struct mgds_ptr){
        .kind = kind,
        .device = (int)value[DEVICE],
        .id = value[BUFFER],
        .base = value[mapped ? MAPPING_BASE : BASE],
        .size = value[mapped ? MAPPING_SIZE : SIZE],
        .ctx = (CUcontext)(uintptr_t)value[CONTEXT],
        .handle_types = (unsigned)value[HANDLES],
    };
}

static int set_ctx_id(const struct mgds_driver *driver, struct mgds_ptr *ptr)
{
    unsigned long long id = 0;
    int rc = 0;

    if (ptr->ctx)
        rc = mgds_cu(driver->cuCtxGetId(ptr->ctx, &id));
    ptr->ctx_id = id;
    return rc;
}

/* Ids of mappings and of imported memory are not said to be unique, and
 * registering tells nothing that is worth remembering. */
static bool id_tells_all(enum mgds_ptr_kind kind)
{
    return kind == MGDS_PTR_DEVICE || kind == MGDS_PTR_POOL ||
           kind == MGDS_PTR_MANAGED;
}

static bool still_lives(const struct mgds_driver *driver,
                        const struct mgds_ptr *known, uintptr_t addr)
{
    unsigned long long id = 0;

    return known->id != 0 && id_tells_all(known->kind) &&
           driver->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                         addr) == CUDA_SUCCESS &&
           id == known->id;
}

static int say_host(struct mgds_ptr *out)
{
    *out = (struct mgds_ptr){.kind = MGDS_PTR_HOST, .device = -1};
    return 0;
}

/*
 * Not CUDA's, or the driver gave no answer (rc). It is host memory, unless GPU
 * memory was there before and the CPU cannot read it now: the driver keeps
 * the addresses of what was freed, for its next allocations.
 */
static int say_unknown(struct mgds_ptr *out, int rc, uintptr_t addr, bool seen)
{
    if (!seen)
        return say_host(out);
    if (!mgds_hostaddr_readable((const void *)addr))
        return rc < 0 ? rc : -EFAULT;
    mgds_ptrcache_drop(addr);
    return say_host(out);
}

/* Mappings that follow one another are one buffer to the GPU. */
static int check_mappings(const struct mgds_driver *driver,
                          const struct mgds_ptr *first, uintptr_t end)
{
    uintptr_t at = first->base + first->size;
    struct answer answer;
    struct mgds_ptr next;
    int rc;

    for (; at < end; at = next.base + next.size) {
        rc = ask_driver(driver, &answer, at);
        if (rc < 0)
            return rc;
        describe_ptr(&next, &answer);
        if (next.kind != MGDS_PTR_VMM || next.device != first->device ||
            next.base != at || next.size == 0)
            return -EFAULT;
    }
    return 0;
}

/* Host memory that is registered in part counts as not registered. */
static int check_span(const struct mgds_driver *driver, struct mgds_ptr *ptr,
                      uintptr_t addr, size_t bytes)
{
    uintptr_t end;

    if (__builtin_add_overflow(addr, bytes, &end))
        return -EFAULT;
    if (end <= ptr->base + ptr->size)
        return 0;
    if (ptr->kind == MGDS_PTR_PINNED)
        return say_host(ptr);
    if (ptr->kind == MGDS_PTR_VMM)
        return check_mappings(driver, ptr, end);
    return -EFAULT;
}

/* By the long way. rc 1: ptr is CUDA's. */
static int look_up(const struct mgds_driver *driver, struct mgds_ptr *ptr,
                   uintptr_t addr, bool seen)
{
    struct answer answer;
    int rc = ask_driver(driver, &answer, addr);

    if (rc == 0)
        describe_ptr(ptr, &answer);
    if (rc < 0 || ptr->kind == MGDS_PTR_HOST)
        return say_unknown(ptr, rc, addr, seen);
    rc = set_ctx_id(driver, ptr);
    if (rc < 0)
        return rc;
    if (ptr->kind != MGDS_PTR_PINNED)
        mgds_ptrcache_put(ptr, addr);
    else if (seen)
        mgds_ptrcache_drop(addr);
    return 1;
}

int mgds_ptr_find(struct mgds_ptr *out, const void *addr, size_t bytes)
{
    const struct mgds_driver *driver = bytes ? mgds_driver() : NULL;
    uintptr_t at = (uintptr_t)addr;
    struct mgds_ptr ptr;
    bool seen;
    int rc = 1;

    if (!driver || mgds_hostaddr_known(addr))
        return say_host(out);
    seen = mgds_ptrcache_get(&ptr, at);
    if (!seen || !still_lives(driver, &ptr, at))
        rc = look_up(driver, &ptr, at, seen);
    if (rc == 1)
        rc = check_span(driver, &ptr, at, bytes);
    if (rc == 0)
        *out = ptr;
    return rc;
}

/* What was GPU memory may have been freed since, and what is managed may be too
 * short: both are looked at as a whole. */
static bool is_plain_to(const struct mgds_driver *driver, uintptr_t addr)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED};
    uint64_t type = 0, managed = 0;
    void *places[] = {&type, &managed};

    if (mgds_ptrcache_covers(addr))
        return false;
    if (driver->cuPointerGetAttributes(2, attributes, places, addr) !=
        CUDA_SUCCESS)
        return true;
    return type != CU_MEMORYTYPE_DEVICE && !(unsigned char)managed;
}

bool mgds_ptr_is_plain_far(const void *addr)
{
    const struct mgds_driver *driver = mgds_driver();

    return !driver || mgds_hostaddr_far(addr) ||
           is_plain_to(driver, (uintptr_t)addr);
}

bool mgds_ptr_lives(const struct mgds_ptr *known, const void *addr)
{
    const struct mgds_driver *driver = mgds_driver();

    return driver && still_lives(driver, known, (uintptr_t)addr);
}
