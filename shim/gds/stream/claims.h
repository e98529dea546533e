/*
 * Which of a stream's claims (device/abi.h) are given out, and how many
 * operations have no claim and may still have something ordered. Any thread,
 * without a lock: who takes one that was given back sees what was done before
 * that.
 */
#ifndef MGDS_STREAM_CLAIMS_H
#define MGDS_STREAM_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/stream/gstream.h"

struct mgds_claims {
    uint64_t taken[MGDS_GSTREAM_CLAIMS / 64]; /* atomic: a bit each */
    bool hopeless;    /* somebody has waited for one in vain, and none was given
                         back since; atomic */
    unsigned serving; /* operations; atomic */
};

/* The number of one of the first so many, or -1: all of them are given out. */
int mgds_claims_take(struct mgds_claims *claims, unsigned most);

void mgds_claims_give(struct mgds_claims *claims, unsigned number);

/* Larger than any before, of all claims of the process. Any thread. */
uint64_t mgds_claims_generation(void);

/* The count of operations without a claim changes. */
void mgds_claims_serve(struct mgds_claims *claims, int change);

/* Is one given out, or is there such an operation? */
bool mgds_claims_any(const struct mgds_claims *claims);

#endif
