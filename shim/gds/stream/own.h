/*
 * What a stream has for itself in its GPU's memory. It is kept for the next
 * stream of the context, so that streams that come and go need no safe point
 * (defer.h): in a program that always has something under way there is none.
 */
#ifndef MGDS_STREAM_OWN_H
#define MGDS_STREAM_OWN_H

#include "device/abi.h"
#include "shim/gds/cuda/ipc.h"
#include "shim/gds/stream/gpu.h"
#include "shim/gds/stream/gstream.h"

/* 0 when made. */
struct mgds_own {
    struct mgds_cell stream;  /* of kernels on the program's stream */
    struct mgds_cell fetches; /* of those on ours */
    struct mgds_claim claim[MGDS_GSTREAM_CLAIMS];
    struct mgds_exchange_cells exchange;
};

/* As mgds_shared_create. */
int mgds_own_create(struct mgds_shared **out, struct mgds_gpu *gpu);

/* No kernel uses it any more. Any thread, any locks held; no driver call. */
void mgds_own_give(struct mgds_shared *own, struct mgds_gpu *gpu);

#endif
