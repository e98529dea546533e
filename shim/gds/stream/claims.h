/*
 * Which of a stream's claims (device/abi.h) are given out. Any thread, without
 * a lock: who takes one that was given back sees what was done before that.
 */
#ifndef MGDS_STREAM_CLAIMS_H
#define MGDS_STREAM_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/stream/gstream.h"

struct mgds_claims {
    uint64_t taken[MGDS_GSTREAM_CLAIMS / 64]; /* atomic: a bit each */
    bool hopeless; /* somebody has waited for one in vain, and none was given
                      back since; atomic */
};

/* Its number, or -1: all are given out. */
int mgds_claims_take(struct mgds_claims *claims);

void mgds_claims_give(struct mgds_claims *claims, unsigned number);

/* Larger than any before, of all claims of the process. Any thread. */
uint64_t mgds_claims_generation(void);

bool mgds_claims_any(const struct mgds_claims *claims);

#endif
