/* Devices, contexts and helpers of the cases; CUDA only. */
#include "env.h"

#include <string.h>

#include "case.h"
#include "clock.h"

static int device_count;
static CUcontext contexts[2];

/* What the case made. The first kept_count things are the harness's own. */
enum thing_kind { STREAM, EVENT, MEMORY, PINNED };
struct thing {
    enum thing_kind kind;
    void *handle;
    CUcontext ctx;
};
#define THINGS 512
static struct thing things[THINGS];
static unsigned thing_count, kept_count;

static CUstream extras[2];
static uint64_t *extra_word;
static CUdeviceptr chance_word;

/* A stream of the device that nobody else uses. */
static CUstream extra(int index)
{
    CUcontext pushed;

    if (extras[index])
        return extras[index];
    OK(cu.CtxPushCurrent(mgds_env_ctx(index)));
    OK(cu.StreamCreate(&extras[index], CU_STREAM_NON_BLOCKING));
    OK(cu.CtxPopCurrent(&pushed));
    return extras[index];
}

void mgds_env_start(void)
{
    mgds_setup_begin();
    OK(cu.Init(0));
    OK(cu.DeviceGetCount(&device_count));
    MUST(device_count > 0);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    mgds_hwqueue_setup();
    (void)extra(0);
    extra_word = mgds_pinned(sizeof(*extra_word));
    chance_word = mgds_zeroed(sizeof(uint32_t));
    kept_count = thing_count;
    mgds_setup_end();
}

void mgds_env_start_second(void)
{
    (void)extra(1);
}

void mgds_env_restore(void)
{
    CUcontext old;

    do {
        OK(cu.CtxGetCurrent(&old));
    } while (old && cu.CtxPopCurrent(&old) == CUDA_SUCCESS);
    OK(cu.CtxSetCurrent(contexts[0]));
}

int mgds_env_devices(void)
{
    return device_count;
}

CUdevice mgds_env_device(int index)
{
    CUdevice device;

    OK(cu.DeviceGet(&device, index));
    return device;
}

CUcontext mgds_env_ctx(int index)
{
    if (contexts[index])
        return contexts[index];
    mgds_setup_begin();
    OK(cu.DevicePrimaryCtxRetain(&contexts[index], mgds_env_device(index)));
    mgds_setup_end();
    return contexts[index];
}

int mgds_env_attribute(int device, CUdevice_attribute attribute)
{
    int value = 0;

    OK(cu.DeviceGetAttribute(&value, attribute, mgds_env_device(device)));
    return value;
}

static bool peers(void)
{
    int there = 0, back = 0;

    if (device_count < 2)
        return false;
    OK(cu.DeviceCanAccessPeer(&there, mgds_env_device(0), mgds_env_device(1)));
    OK(cu.DeviceCanAccessPeer(&back, mgds_env_device(1), mgds_env_device(0)));
    return there && back;
}

unsigned mgds_env_needs(void)
{
    static const struct {
        CUdevice_attribute attribute;
        unsigned need;
    } rows[] = {
        {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, NEED_MEMOP64},
        {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, NEED_NOR},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
         NEED_VMM},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, NEED_POOLS},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, NEED_MANAGED},
        {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, NEED_IPC},
    };
    /* 32-bit memory operations: always there with their v2 calls. */
    unsigned met = NEED_MEMOPS | NEED_KERNELS;

#ifdef MGDS_HAVE_NVCC
    met |= NEED_IMAGE;
#endif
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (mgds_env_attribute(0, rows[i].attribute))
            met |= rows[i].need;
    if (device_count > 1)
        met |= NEED_2DEV;
    if (peers())
        met |= NEED_PEER;
    return met;
}

static void keep(enum thing_kind kind, void *handle)
{
    struct thing *t = &things[thing_count++];

    MUST(thing_count < THINGS);
    t->kind = kind;
    t->handle = handle;
    OK(cu.CtxGetCurrent(&t->ctx));
}

CUstream mgds_stream(unsigned flags)
{
    CUstream stream;

    OK(cu.StreamCreate(&stream, flags));
    keep(STREAM, stream);
    return stream;
}

CUstream mgds_free_stream(void)
{
    return mgds_stream(CU_STREAM_NON_BLOCKING);
}

CUevent mgds_event(unsigned flags)
{
    CUevent event;

    OK(cu.EventCreate(&event, flags));
    keep(EVENT, event);
    return event;
}

CUdeviceptr mgds_zeroed(size_t bytes)
{
    CUdeviceptr at = 0;
    CUcontext now;
    int index;

    OK(cu.CtxGetCurrent(&now));
    index = now == contexts[1] && now != contexts[0];
    OK(cu.MemAlloc(&at, bytes));
    keep(MEMORY, (void *)(uintptr_t)at);
    OK(cu.MemsetD8Async(at, 0, bytes, extra(index)));
    OK(cu.StreamSynchronize(extra(index)));
    return at;
}

void *mgds_pinned(size_t bytes)
{
    void *at;

    OK(cu.MemHostAlloc(&at, bytes, CU_MEMHOSTALLOC_PORTABLE));
    memset(at, 0, bytes);
    keep(PINNED, at);
    return at;
}

static void release(const struct thing *t)
{
    OK(cu.CtxSetCurrent(t->ctx));
    switch (t->kind) {
    case STREAM:
        OK(cu.StreamDestroy(t->handle));
        break;
    case EVENT:
        OK(cu.EventDestroy(t->handle));
        break;
    case MEMORY:
        OK(cu.MemFree((CUdeviceptr)(uintptr_t)t->handle));
        break;
    case PINNED:
        OK(cu.MemFreeHost(t->handle));
        break;
    }
}

void mgds_env_clean(void)
{
    while (thing_count > kept_count)
        release(&things[--thing_count]);
    mgds_env_restore();
}

CUdeviceptr mgds_address(const volatile void *host)
{
    return (CUdeviceptr)(uintptr_t)host;
}

/* The device of the one address that is not the extra word. */
static int home(CUdeviceptr at)
{
    int ordinal = 0;

    if (cu.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                               at) != CUDA_SUCCESS)
        return 0;
    return contexts[1] && ordinal == 1;
}

/* Copies by the extra stream of the device that has the memory. */
static void carry(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    bool out = from == mgds_address(extra_word);
    CUstream stream = extra(home(out ? to : from));

    OK(cu.MemcpyAsync(to, from, bytes, stream));
    OK(cu.StreamSynchronize(stream));
}

void mgds_chance(void)
{
    /* Device memory: a copy from host to host the driver may do by itself. */
    for (int i = 0; i < 4; i++)
        (void)mgds_peek(chance_word);
}

uint64_t mgds_peek64(CUdeviceptr at)
{
    carry(mgds_address(extra_word), at, 8);
    return *extra_word;
}

uint32_t mgds_peek(CUdeviceptr at)
{
    *extra_word = 0;
    carry(mgds_address(extra_word), at, 4);
    return (uint32_t)*extra_word;
}

void mgds_poke64(CUdeviceptr at, uint64_t value)
{
    *extra_word = value;
    carry(at, mgds_address(extra_word), 8);
}

void mgds_poke(CUdeviceptr at, uint32_t value)
{
    *extra_word = value;
    carry(at, mgds_address(extra_word), 4);
}
