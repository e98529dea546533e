/* Two queue pairs of one port that talk to each other, each with a piece of
 * host memory: where what an HCA does is tried. A function that fails returns
 * false, and `failure` says in words what was found. */
#ifndef MGDS_HCA_LOOPBACK_H
#define MGDS_HCA_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/hca/qp.h"
#include "shim/gds/hca/region.h"

enum {
    MGDS_LOOPBACK_BLOCKS = 64,
    MGDS_LOOPBACK_MEMORY = 16384,
    MGDS_LOOPBACK_FAILURE = 200
};

struct mgds_loopback_side {
    struct mgds_qp *qp;
    struct mgds_sendq *queue;
    struct mgds_region region;
    bool registered;
    uint8_t *memory; /* MGDS_LOOPBACK_MEMORY, all 0 at first */
};

struct mgds_loopback {
    struct mgds_rail *rail;
    struct mgds_loopback_side a; /* posts */
    struct mgds_loopback_side b;
    struct mgds_completion heard; /* taken from the CQ, and by nobody; state 0:
                                     there is none */
    char failure[MGDS_LOOPBACK_FAILURE];
};

/* The rail outlives it. close follows, also if it fails. */
bool mgds_loopback_open(struct mgds_loopback *loop, struct mgds_rail *rail);
void mgds_loopback_close(struct mgds_loopback *loop);

/* Keep the words, and return false. */
bool mgds_loopback_fail(struct mgds_loopback *loop, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool mgds_loopback_fail_refused(struct mgds_loopback *loop,
                                const struct mgds_refusal *refusal);
bool mgds_loopback_fail_completion(struct mgds_loopback *loop,
                                   const struct mgds_completion *completion);

/* What WQEs of a, to b's memory, name. */
struct mgds_wqe_path mgds_loopback_path(const struct mgds_loopback *loop);
struct mgds_wqe_remote mgds_loopback_remote(const struct mgds_loopback *loop,
                                            size_t offset);
struct mgds_wqe_local mgds_loopback_local(const struct mgds_loopback *loop,
                                          size_t offset, uint32_t bytes);
uint64_t *mgds_loopback_word(const struct mgds_loopback_side *side,
                             size_t offset);

/* Puts a WQE of a's, for which there is room: its owner waits for what it has
 * posted. Not rung yet. */
void mgds_loopback_post(struct mgds_loopback *loop, struct mgds_wqe wqe);
void mgds_loopback_ring(struct mgds_loopback *loop);

/* The next completion of a's; false after five seconds. expect: it is a
 * success, or fails with that syndrome. */
bool mgds_loopback_await(struct mgds_loopback *loop,
                         struct mgds_completion *out);
bool mgds_loopback_expect_done(struct mgds_loopback *loop);
bool mgds_loopback_expect_failed(struct mgds_loopback *loop, uint8_t syndrome);

/* The word gets that value, or an error is heard, or five seconds pass. */
bool mgds_loopback_await_word(struct mgds_loopback *loop, const uint64_t *word,
                              uint64_t value);

#endif
