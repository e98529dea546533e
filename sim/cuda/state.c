/* The process state: small helpers that every file uses, and start. */
#include "sim/cuda/state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/fault.h"
#include "sim/cuda/module.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/window.h"
#include "shim/base/log.h"

#define DOZE_MIN_NS 20000
#define DOZE_MAX_NS 2000000

struct mgds_gpu mgds_gpu = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .gate_moved = PTHREAD_COND_INITIALIZER,
};

_Thread_local struct mgds_gpu_thread mgds_gpu_thread;

void *mgds_gpu_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory) {
        mgds_warn("software GPU: out of host memory for the simulator itself");
        abort();
    }
    return memory;
}

void *mgds_gpu_grow(void *array, size_t count, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? *capacity : 8;
    void *bigger;

    if (count <= *capacity)
        return array;
    while (wanted < count)
        wanted *= 2;
    bigger = realloc(array, wanted * size);
    if (!bigger) {
        mgds_warn("software GPU: out of host memory for the simulator itself");
        abort();
    }
    *capacity = wanted;
    return bigger;
}

uint64_t mgds_gpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void mgds_gpu_nap(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    nanosleep(&t, NULL);
}

void mgds_gpu_doze(uint64_t *nap)
{
    if (*nap < DOZE_MIN_NS)
        *nap = DOZE_MIN_NS;
    mgds_gpu_nap(*nap);
    *nap += *nap / 4;
    if (*nap > DOZE_MAX_NS)
        *nap = DOZE_MAX_NS;
}

/* The finaliser of splitmix64: neighbouring seeds give unrelated sequences. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t mgds_gpu_random(uint64_t what)
{
    return mix(mix(mix(mgds_gpu.cfg.seed) + mgds_gpu.cfg.rank) + what);
}

/* None in half of the cases: both sides of a race get their turn. One draw an
 * operation, so that a seed repeats. */
void mgds_gpu_delay(uint64_t *random)
{
    uint64_t longest = mgds_gpu.cfg.delay;
    uint64_t draw;

    if (!longest)
        return;
    *random += 0x9e3779b97f4a7c15u;
    draw = mix(*random);
    if (draw & 1)
        mgds_gpu_nap((draw >> 1) % (longest * 1000));
}

uint64_t mgds_gpu_next_id(void)
{
    return ++mgds_gpu.last_id;
}

struct mgds_gpu_device *mgds_gpu_device(CUdevice ordinal)
{
    if (ordinal < 0 || ordinal >= mgds_gpu.devices)
        return NULL;
    return &mgds_gpu.device[ordinal];
}

/* Same on every process of a host, different on every host. */
static CUuuid device_uuid(unsigned physical)
{
    uint64_t h[2] = {14695981039346656037u, 1099511628211u * (physical + 1)};
    CUuuid uuid;

    for (const char *c = mgds_gpu.cfg.identity; *c; c++) {
        h[0] = (h[0] ^ (unsigned char)*c) * 1099511628211u;
        h[1] = (h[1] ^ h[0]) * 0x9e3779b97f4a7c15u;
    }
    memcpy(uuid.bytes, h, sizeof(uuid.bytes));
    return uuid;
}

static void start_device(int i)
{
    struct mgds_gpu_device *device = &mgds_gpu.device[i];

    device->ordinal = i;
    device->uuid = device_uuid(mgds_gpu.cfg.visible[i]);
    pthread_cond_init(&device->queue_moved, NULL);
}

/* What is opened stays open to the end of the process: programs may make
 * calls from their exit handlers. */
static CUresult start(void)
{
    if (mgds_gpu_config_load(&mgds_gpu.cfg) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mgds_gpu.pid = getpid();
    mgds_gpu.devices = (int)mgds_gpu.cfg.visible_count;
    if (mgds_gpu.devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    for (int i = 0; i < mgds_gpu.devices; i++)
        start_device(i);
    if (mgds_window_open() < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mgds_fault_open();
    mgds_kernels_open();
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    CUresult rc;

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (mgds_gpu.pid && mgds_gpu.pid != getpid())
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&mgds_gpu.lock);
    if (!mgds_gpu.started) {
        mgds_gpu.start_result = start();
        mgds_gpu.started = true;
    }
    rc = mgds_gpu.start_result;
    pthread_mutex_unlock(&mgds_gpu.lock);
    return rc;
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 13000;
    return CUDA_SUCCESS;
}

void mgds_gpu_gate_pass(const struct mgds_gpu_device *device)
{
    while (device->gate_shut)
        pthread_cond_wait(&mgds_gpu.gate_moved, &mgds_gpu.lock);
}

void mgds_gpu_device_wait(struct mgds_gpu_device *device)
{
    mgds_gpu_gate_pass(device);
    device->gate_shut = true;
    mgds_stream_wait_all(device, NULL);
    device->gate_shut = false;
    pthread_cond_broadcast(&mgds_gpu.gate_moved);
}

void mgds_gpu_lose(CUresult error)
{
    if (!mgds_gpu.lost)
        mgds_gpu.lost = error;
}
