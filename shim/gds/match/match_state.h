/* A matcher, as the files of this folder know it. */
#ifndef MGDS_MATCH_MATCH_STATE_H
#define MGDS_MATCH_MATCH_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/match/fifos.h"
#include "shim/gds/match/match.h"

struct mgds_match {
    mgds_match_paired *paired;
    void *owner;
    struct mgds_fifos posted;     /* receives: posted.h */
    struct mgds_fifos unexpected; /* sends: unexpected.h */
    struct mgds_fifos arrived;    /* sends, by source and number */
    /* what rule.c is to look at */
    TAILQ_HEAD(, mgds_match_recv) due_recvs;
    TAILQ_HEAD(, mgds_match_send) due_sends;
    uint64_t stamp; /* of the next receive */
    uint64_t looks; /* at records, but those of searches */
    size_t sends;
    /* posted receives, and the free ones of them, by kind */
    size_t all[MGDS_AHEAD_KINDS + 1];
    int64_t free[MGDS_AHEAD_KINDS + 1];
    size_t ahead; /* of the sends: a smaller number is missing */
    unsigned sources;
    uint64_t expected[]; /* by source: the number that comes next */
};

/* Of a source, or any, and a tag, or any. */
static inline uint64_t mgds_match_key(int source, int tag)
{
    return (uint64_t)(uint32_t)source << 32 | (uint32_t)tag;
}

#endif
