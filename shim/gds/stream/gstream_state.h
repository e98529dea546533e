/*
 * The state of a stream object, for gstream.c, which has all that goes on the
 * program's stream, and beside.c, which has what goes on beside it. gstream.h
 * is for all others, and says who writes what.
 */
#ifndef MGDS_STREAM_GSTREAM_STATE_H
#define MGDS_STREAM_GSTREAM_STATE_H

#include <pthread.h>

#include "shim/base/lock.h"
#include "shim/gds/cuda/ipc.h"
#include "shim/gds/stream/claims.h"
#include "shim/gds/stream/gpu.h"
#include "shim/gds/stream/events.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/stream/order.h"
#include "shim/gds/stream/own.h"
#include "shim/gds/stream/quits.h"
#include "shim/gds/stream/side.h"

/* Blocks at most of a kernel that copies a long message. */
enum { MGDS_GSTREAM_LONG = 32 };

struct mgds_gstream {
    void *native;
    pthread_t maker; /* the thread that a per-thread stream is of */
    struct mgds_gpu *gpu;
    struct mgds_shared *own; /* GPU memory: a struct mgds_own; or NULL */
    unsigned blocks;         /* granted to kernels that wait; 0: one each */
    uint64_t *line;          /* a struct mgds_desk */
    struct mgds_events events;
    struct mgds_orders orders;
    struct mgds_quits quits;
    uint64_t beside;  /* atomic: devices of its sides, a bit each */
    uint64_t gated;   /* atomic: those that the gate was told of */
    uint64_t ticket;  /* atomic: the next to be given */
    uint64_t fetched; /* atomic: how often */
    struct mgds_claims claims;
    unsigned refs;                  /* atomic */
    struct mgds_timeline *timeline; /* atomic */
    int waits;                      /* atomic: put, less those passed */
    int error;                      /* atomic */
    struct mgds_lock launch;
    pthread_cond_t turned;
    struct mgds_side *sides; /* atomic; grows in front */
    /* under launch */
    uint64_t turn;
    uint64_t take; /* turn of the last TAKE */
};

static inline struct mgds_own *
mgds_gstream_own(const struct mgds_gstream *stream)
{
    return stream->own ? (struct mgds_own *)stream->own->addr : NULL;
}

static inline struct mgds_desk *
mgds_gstream_desk(const struct mgds_gstream *stream)
{
    return (struct mgds_desk *)(void *)stream->line;
}

#endif
