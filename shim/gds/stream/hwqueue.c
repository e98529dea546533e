/* Waiting streams and hardware queues; see hwqueue.h. */
#include "shim/gds/stream/hwqueue.h"

#include "shim/base/config.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/presence.h"

enum {
    DEVICES = MGDS_HWQUEUE_DEVICES,
    USUAL = 8,
    SPARE = 2, /* queues that must stay free: copies, and the program */
};

static int waiting[DEVICES]; /* streams, by device; atomic */
static int waiting_anywhere; /* of all devices; atomic */
static int granted[DEVICES]; /* blocks, by device; atomic */
static int queues = USUAL;   /* as of the last stream that was made; atomic */

void mgds_hwqueue_prepare(void)
{
    if (!mgds_presence_scan())
        mgds_config_raise_connections();
}

void mgds_hwqueue_tell(void)
{
    static int told; /* atomic */
    int set = mgds_config_connections();

    __atomic_store_n(&queues, set > 0 ? set : USUAL, __ATOMIC_RELAXED);
    if (set > 0 || __atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        return;
    mgds_info("CUDA started before CUDA_DEVICE_MAX_CONNECTIONS could be "
              "raised: at most %d streams can wait at a time; start the "
              "program with mpix-gds-run, or set it to 32",
              USUAL - SPARE);
}

/* Devices beyond the table share its last place: they warn too soon. */
static int *place_of(int table[], int device)
{
    return &table[device >= 0 && device < DEVICES ? device : DEVICES - 1];
}

void mgds_hwqueue_enter(int device)
{
    int now =
        __atomic_add_fetch(place_of(waiting, device), 1, __ATOMIC_RELAXED);
    int most = __atomic_load_n(&queues, __ATOMIC_RELAXED);

    __atomic_add_fetch(&waiting_anywhere, 1, __ATOMIC_RELAXED);
    if (now < most - SPARE)
        return;
    mgds_warn_once("%d streams of GPU %d wait for messages, which has %d "
                   "hardware queues: when all are taken nothing else runs "
                   "there; let fewer streams wait at a time%s",
                   now, device, most,
                   most < 32 ? ", or set CUDA_DEVICE_MAX_CONNECTIONS=32" : "");
}

void mgds_hwqueue_leave(int device)
{
    __atomic_sub_fetch(place_of(waiting, device), 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&waiting_anywhere, 1, __ATOMIC_RELAXED);
}

int mgds_hwqueue_count(int device)
{
    return __atomic_load_n(place_of(waiting, device), __ATOMIC_RELAXED);
}

bool mgds_hwqueue_any(void)
{
    return __atomic_load_n(&waiting_anywhere, __ATOMIC_RELAXED) > 0;
}

unsigned mgds_hwqueue_grant(int device, unsigned wanted, unsigned processors)
{
    int *all = place_of(granted, device);
    int now = __atomic_add_fetch(all, (int)wanted, __ATOMIC_RELAXED);

    if (now <= (int)processors / 2)
        return wanted;
    __atomic_sub_fetch(all, (int)wanted, __ATOMIC_RELAXED);
    return 0;
}

void mgds_hwqueue_return(int device, unsigned blocks)
{
    __atomic_sub_fetch(place_of(granted, device), (int)blocks,
                       __ATOMIC_RELAXED);
}
