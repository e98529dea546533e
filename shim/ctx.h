/*
 * The process context: the one thing that is global. Made on first need, by
 * whichever thread comes first; never by a constructor, so that preloading us
 * into a program without MPI changes nothing.
 */
#ifndef MGDS_CTX_H
#define MGDS_CTX_H

#include "shim/base/config.h"

struct mgds_ctx {
    struct mgds_config config; /* constant once made */
};

/* The context; never NULL. The first call reads the environment. */
const struct mgds_ctx *mgds_ctx(void);

#endif
