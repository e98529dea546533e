/* A gate holds a stream back: a memory operation waits on a host word until
 * the gate opens. It is how a case shows that something has *not* run. The
 * watchdog opens all gates, so no device is left waiting. */
#ifndef MGDS_HW_GATE_H
#define MGDS_HW_GATE_H

#include "driver.h"

struct mgds_hwqueue {
    unsigned slot;
    CUdeviceptr word;
};

/* Allocates the words; once, from mgds_env_start. */
void mgds_hwqueue_setup(void);

/* A closed gate; any number of streams may stand in it. */
struct mgds_hwqueue mgds_hwqueue_new(void);

/* Queues a wait for the gate. */
void mgds_hwqueue_hold(struct mgds_hwqueue gate, CUstream stream);

/* Lets every stream that stands in it go on, now and later. */
void mgds_hwqueue_open(struct mgds_hwqueue gate);

/* Async-signal-safe: opens every gate ever made. */
void mgds_hwqueue_open_all(void);

/* Gates still closed with a stream held; they are opened and forgotten. */
int mgds_hwqueue_reset(void);

#endif
