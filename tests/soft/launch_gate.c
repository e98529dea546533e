/* Launches that are counted, and held; see launch_gate.h. */
#include "tests/soft/launch_gate.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include "shim/gds/cuda/driver.h"

unsigned launches;
bool launches_held;
uint32_t *launch_gate;

static CUresult (*launch)(const CUlaunchConfig *config, CUfunction function,
                          void **params, void **extra);

static CUresult count_launch(const CUlaunchConfig *config, CUfunction function,
                             void **params, void **extra)
{
    launches++;
    if (launches_held)
        OK(cu.cuStreamWaitValue32_v2(config->hStream,
                                     (CUdeviceptr)(uintptr_t)launch_gate, 1,
                                     CU_STREAM_WAIT_VALUE_GEQ));
    return launch(config, function, params, extra);
}

static struct mgds_driver *table(void)
{
    return (struct mgds_driver *)(void *)mgds_driver();
}

void launch_gate_make(void)
{
    void *at;

    OK(cu.cuMemHostAlloc(&at, sizeof(*launch_gate), 0));
    launch_gate = (uint32_t *)at;
    launch_gate_open(true);
    launch = table()->cuLaunchKernelEx;
    table()->cuLaunchKernelEx = count_launch;
    launches = 0;
    launches_held = false;
}

void launch_gate_open(bool open)
{
    __atomic_store_n(launch_gate, open, __ATOMIC_RELEASE);
}

void launch_gate_settle(void)
{
    launches_held = false;
    launch_gate_open(true);
    OK(cu.cuCtxSynchronize());
}

void launch_gate_remove(void)
{
    table()->cuLaunchKernelEx = launch;
    OK(cu.cuMemFreeHost(launch_gate));
}

void stage_open_filled(struct stage_place *place, int seed)
{
    stage_open_place(place);
    for (size_t i = 0; i < ROOM; i++)
        place->want[i] = (unsigned char)((size_t)seed + i * 7 + i / 251);
    OK(cu.cuMemcpy(place->gpu, (CUdeviceptr)(uintptr_t)place->want, ROOM));
}
