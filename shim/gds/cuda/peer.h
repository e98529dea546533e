/* Peer access: whether kernels of one context may touch memory of another GPU's
 * context. Copies need none of it. */
#ifndef MGDS_CUDA_PEER_H
#define MGDS_CUDA_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"

/* Lets kernels of ctx touch what is allocated in peer, now and later. 0 also if
 * they might before. May wait for the devices: not where a wait stands.
 * -ENOTSUP: the devices do not reach each other; or what else the driver says.
 */
int mgds_peer_enable(const struct mgds_context *ctx,
                     const struct mgds_context *peer);

/* Whether they may touch this address, as the driver says now: the program may
 * disable what was enabled. */
bool mgds_peer_reaches(const struct mgds_context *ctx, uintptr_t addr);

#endif
