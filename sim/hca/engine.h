/*
 * A software ConnectX without its front: queues of a program in, bytes and CQEs
 * out. The owner attaches memory that holds the rings, records and doorbell
 * pages of queue pairs, in the formats of device/abi_wqe.h; the engine executes
 * what a program posts there. It depends on the C library alone.
 *
 *   program          engine (mgds_hca_run)                  program of the peer
 *   WQE, record,  -> doorbell.c: how far was it rung?
 *   doorbell         requester.c, wqe.c: decode, check
 *                       | wire.h: request                      receive WQE,
 *                       v                                      record
 *                    responder.c: execute at the peer's QP  -> payload, CQE
 *                       | wire.h: answer
 *                       v
 *   CQE           <- requester.c, cq.c
 *
 * Threads. All calls about devices that reach each other (a wire of one
 * process) are under one lock of the owner's; there is no thread here. What is
 * given to be called (events, completions, misuse) is called inside
 * mgds_hca_run and the calls of wire.h, and calls nothing of the engine.
 * Programs need no lock against it: who may write which word, and what is
 * visible with it, is said in cq.h (CQEs) and doorbell.h (the rest). WQEs and
 * local memory are read while their doorbell waits to be completed; a program
 * that changes them meanwhile sends what it likes, and harms nobody. */
#ifndef MGDS_SIM_HCA_ENGINE_H
#define MGDS_SIM_HCA_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/cause.h"
#include "sim/hca/table.h"
#include "sim/hca/wire.h"

struct mgds_hca_qp;
struct mgds_hca_transit;
struct mgds_hca_uar;

/* What hardware passes over in silence, or punishes some day. */
enum mgds_hca_misuse {
    MGDS_MISUSE_DOORBELL_QPN,   /* another QP's number; nothing was done */
    MGDS_MISUSE_DOORBELL_INDEX, /* backwards, or beyond the ring; likewise */
    MGDS_MISUSE_RECORD_BEHIND   /* the record has not reached the doorbell */
};

/* Any may be NULL. */
struct mgds_hca_calls {
    void (*event)(void *ctx, enum mgds_hca_event event, uint32_t number);
    /* A CQ that was armed has what is waited for. */
    void (*completion)(void *ctx, uint32_t cqn);
    void (*misuse)(void *ctx, enum mgds_hca_misuse what, uint32_t qpn);
    /* Nanoseconds, never 0; by default the machine's monotonic clock. */
    uint64_t (*clock)(void *ctx);
    void *ctx;
};

struct mgds_hca_digest;

struct mgds_hca_config {
    uint32_t first_qpn;   /* QPNs are larger, by at most 65535 */
    uint8_t capabilities; /* opcode.h */
    bool ethernet;        /* its port is RoCE: GIDs, no LIDs */
    uint64_t late_record; /* ns that a record may be behind its doorbell */
    uint64_t late_write;  /* ns that a write may be on its way (transit.h) */
    uint64_t seed;        /* of those times */
    struct mgds_hca_digest *digest; /* the owner's; NULL: none is made */
    struct mgds_hca_wire wire;
    struct mgds_hca_calls calls;
};

struct mgds_hca {
    struct mgds_hca_config config;
    struct mgds_hca_table qps;
    struct mgds_hca_table cqs;
    struct mgds_hca_table srqs;
    struct mgds_hca_table keys; /* by index (key.h) */
    uint32_t variant;           /* of the key made last */
    uint64_t epoch;             /* of the call made last (dct.h) */

    uint64_t overrun; /* fault: the CQE that finds no room; 0: none */
    bool in_round;    /* time stands still within a round */
    uint64_t time;    /* of this one; 0: not asked for yet */
    struct mgds_hca_transit *transit; /* NULL: no memory of GPUs is known */
    struct mgds_hca_uar *uars;
    struct mgds_hca_qp *busy; /* those with something left to do */
    struct mgds_hca_qp *turn; /* of these, those that this round comes to */
};

/* A device; the config is copied. -ENOMEM. */
int mgds_hca_create(struct mgds_hca **out,
                    const struct mgds_hca_config *config);

/* Everything is detached before, but keys. */
void mgds_hca_destroy(struct mgds_hca *hca);

/* Takes the doorbells that were rung and does what can be done, until there is
 * nothing more: how many things. What waits for a time, for a receive or for
 * the wire waits for a later call. A program that never stops ringing does not
 * hold it: it ends after MGDS_HCA_ROUNDS. */
enum { MGDS_HCA_ROUNDS = 1024 };
int mgds_hca_run(struct mgds_hca *hca);

/* For the rooms of the engine. */

/* The QP of that number, or NULL. */
struct mgds_hca_qp *mgds_hca_qp_find(const struct mgds_hca *hca, uint32_t qpn);

/* The QP is looked at in the next round; or in none any more. */
void mgds_hca_busy(struct mgds_hca *hca, struct mgds_hca_qp *qp);
void mgds_hca_unbusy(struct mgds_hca *hca, struct mgds_hca_qp *qp);

uint64_t mgds_hca_now(struct mgds_hca *hca);

void mgds_hca_tell_event(const struct mgds_hca *hca, enum mgds_hca_event event,
                         uint32_t number);
void mgds_hca_tell_completion(const struct mgds_hca *hca, uint32_t cqn);
void mgds_hca_tell_misuse(const struct mgds_hca *hca, enum mgds_hca_misuse what,
                          uint32_t qpn);

#endif
