/* What every case stands on: the devices, their primary contexts, an extra
 * stream nobody blocks, and small helpers to look at device memory. */
#ifndef MGDS_HW_ENV_H
#define MGDS_HW_ENV_H

#include <stdint.h>

#include "driver.h"

/* cuInit, primary context of device 0 current; counts as set-up (clock.h).
 * Ends the case on failure. */
void mgds_env_start(void);

/* Makes the second device's context as well, while that is set-up. */
void mgds_env_start_second(void);

/* Puts the first context back as the only current one. */
void mgds_env_restore(void);

/* Devices found; 0 before mgds_env_start. */
int mgds_env_devices(void);
CUdevice mgds_env_device(int index);

/* The primary context of a device, retained once; making it counts as set-up.
 * Does not make it current. */
CUcontext mgds_env_ctx(int index);

int mgds_env_attribute(int device, CUdevice_attribute attribute);

/* Needs (enum mgds_need) that this machine meets. After mgds_env_start. */
unsigned mgds_env_needs(void);

/* New streams, events and memory (filled with zeros) in the current context.
 * They belong to the case: mgds_env_clean releases them after it, so a case
 * must not. Abort when impossible. */
CUstream mgds_stream(unsigned flags);
CUstream mgds_free_stream(void); /* a non-blocking one */
CUevent mgds_event(unsigned flags);
CUdeviceptr mgds_zeroed(size_t bytes);
void *mgds_pinned(size_t bytes);

/* Releases what a case made; no work may be left. */
void mgds_env_clean(void);

/* The device's view of pinned memory: unified addressing has one. */
CUdeviceptr mgds_address(const volatile void *host);

/* Lets the device run whatever it wrongly might: several round trips to the
 * device on a stream that depends on nothing. Never a proof by itself; the
 * state that is checked after the gate opens is. */
void mgds_chance(void);

/* A word of device or mapped memory, read or written over the extra stream of
 * its device, which waits for nothing else. */
uint32_t mgds_peek(CUdeviceptr at);
uint64_t mgds_peek64(CUdeviceptr at);
void mgds_poke(CUdeviceptr at, uint32_t value);
void mgds_poke64(CUdeviceptr at, uint64_t value);

#endif
