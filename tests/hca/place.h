/* Two software HCAs in one process, a connected QP on each, and a program that
 * writes WQEs byte by byte: nothing here uses the structs of device/abi_wqe.h
 * but to name memory. */
#ifndef MGDS_TESTS_HCA_PLACE_H
#define MGDS_TESTS_HCA_PLACE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>

#include "device/abi_wqe.h"
#include "sim/hca/cq.h"
#include "sim/hca/doorbell.h"
#include "sim/hca/engine.h"
#include "sim/hca/key.h"
#include "sim/hca/loop.h"
#include "sim/hca/opcode.h"
#include "sim/hca/qp.h"
#include "sim/hca/srq.h"
#include "sim/hca/wire/fabric.h"
#include "sim/hca/wire/port.h"

enum {
    PLACE_QPN_A = 0x123,
    PLACE_QPN_B = 0x456,
    PLACE_PD = 7,
    PLACE_UIDX = 0xbeef,
    PLACE_MEMORY = 1 << 16,
    PLACE_RECEIVES = 8,
    PLACE_EVENTS = 16,
    PLACE_DELAY = 100000, /* ns after RNR */
    PLACE_LATE = 1000,
    PLACE_TIMEOUT = 8 /* 1 ms */
};

/* fm_ce_se of a WQE that is signalled. */
enum { SIGNALLED = 0x08 };

enum { PLACE_QKEY = 0x1ee7a11 };
#define PLACE_DC_KEY UINT64_C(0x1ee7a330deadbeef)

/* What differs between tests; 0 means the default. */
struct options {
    uint32_t blocks;      /* 16 */
    uint32_t entries;     /* 64 */
    uint32_t entry_bytes; /* 64 */
    uint32_t stride;      /* of receives: 64 */
    uint8_t access;       /* of QPs: all */
    uint8_t reads;        /* 4 */
    uint8_t rnr_retry;    /* forever */
    bool collapsed;
    bool ignore_overrun;
    bool unconnected; /* QPs stay in RESET */
    const struct mgds_hca_wire *wire;
    bool packets;       /* devices on the medium of this host; then also: */
    uint16_t mtu;       /* 4096 */
    uint32_t psn;       /* 5 */
    uint8_t retries;    /* 7 */
    const char *faults; /* of both devices: none */
    uint8_t timeout;    /* PLACE_TIMEOUT */
    bool apart;         /* b runs elsewhere, in a thread or a child */
    bool hosts;         /* each on a host of its own */

    uint8_t host; /* of both, among others */
    bool gids;    /* addressed by GID alone */

    enum mgds_hca_service service; /* of QPs; DCI: each end has a DCT, too */
    bool shared; /* each end has a shared receive queue; DCI: of the DCT */
    bool half;   /* DCI: address vectors of one unit */

    struct mgds_hca_speed speed; /* of both ports */

    bool out_of_order;  /* QPs allow it */
    bool ethernet;      /* RoCE ports */
    const char *folder; /* where the devices are: one of this process */
};

/* A CQ with its memory, and what the program knows of it. */
struct queue {
    struct mgds_hca_cq *cq;
    uint8_t *buffer;
    _Alignas(8) struct mgds_be32 record[2];
    struct options options;
    uint32_t consumed;
};

/* One side. */
struct end {
    struct place *place;
    struct mgds_hca *hca;
    struct mgds_hca_uar *uar;
    uint8_t *page;
    struct mgds_hca_qp *qp;
    struct mgds_hca_qp *dct;  /* or NULL */
    struct mgds_hca_srq *srq; /* or NULL */
    uint8_t *send;
    uint8_t *receive;
    _Alignas(8) struct mgds_be32 record[2];
    struct queue sends;
    struct queue receives;
    uint16_t pi;     /* blocks posted */
    uint16_t posts;  /* receives posted */
    uint8_t last[8]; /* the first bytes of the last WQE */
    uint8_t *memory;
    uint32_t key; /* of all of it */
    uint32_t number;
    struct mgds_hca_port *port; /* packets */
};

struct place {
    struct options options;
    struct mgds_hca_loop loop;
    struct end a; /* mostly the requester */
    struct end b;
    uint64_t clock;
    unsigned events;
    enum mgds_hca_event event[PLACE_EVENTS];
    uint32_t event_number[PLACE_EVENTS];
    unsigned completions;
    unsigned misuses;
    enum mgds_hca_misuse misuse;
};

void place_open(struct place *place, const struct options *options);
void place_close(struct place *place);

/* A place that processes share. */
struct place *place_map(void);
void place_unmap(struct place *place);

/* Both devices, until neither has anything to do. With packets the clock moves
 * on when only that helps. Apart: device a, until all that was rung for has
 * completed; the clock is the machine's, and memory is shared with children. */
void place_run(struct place *place);

/* Apart: b, until *over is set. */
void place_serve(struct place *place, const bool *over);

/* A QP in place of the end's, with this shared queue; NULL: with a ring. */
void place_use_srq(struct end *end, struct mgds_hca_srq *srq);

/* Faults of an end from now on. */
void place_disturb(struct end *end, const char *text);

/* The GID of an end, which place_open has given it. */
struct mgds_hca_gid place_gid(const struct end *end);

/* Where an end's device is; of a port. */
struct mgds_hca_address place_of(const struct end *end);

/* What place_connect hands to each state, for the other end's QP `peer`. */
struct mgds_hca_change place_change(const struct end *end, uint32_t peer);

/* Another DCT of an end, with its SRQ and that key, in RTR. */
struct mgds_hca_qp *place_dct(struct end *end, uint64_t key);

/* Receives of an end that were taken so far. */
uint16_t place_taken(const struct end *end);

/* Through INIT, RTR and RTS, to QP number `peer`; or as *change says. */
void place_connect(struct end *end, struct mgds_hca_qp *qp, uint32_t peer);
void place_connect_as(struct mgds_hca_qp *qp, struct mgds_hca_change change);

/* The same again for an end's own QP, by way of RESET: its queues are empty. */
void place_revive(struct end *end, uint32_t peer);

/* Another key for some of an end's memory. */
uint32_t place_key(struct end *end, size_t offset, uint64_t bytes, uint32_t pd,
                   uint8_t access);

/* The address that WQEs call a byte of an end's memory: not where it is. */
uint64_t place_address(const struct end *end, size_t offset);

/* Bytes of a WQE that is being written. */
struct wqe {
    size_t bytes;
    uint8_t at[16 * 64];
};

/* A control segment; of a DCI with an address vector, to the DCT of the other
 * end, if the WQE goes out. */
struct wqe wqe_ctrl(const struct end *end, uint8_t opcode, uint8_t fm_ce_se);
/* The same of a DCI, signalled, to that DCT of an end. */
struct wqe wqe_dc_ctrl(const struct end *end, uint8_t opcode,
                       const struct end *to, uint32_t dct);
void wqe_be32(struct wqe *wqe, uint32_t v);
void wqe_be64(struct wqe *wqe, uint64_t v);
void wqe_raddr(struct wqe *wqe, uint64_t address, uint32_t rkey);
void wqe_data(struct wqe *wqe, uint32_t bytes, uint32_t lkey, uint64_t address);
void wqe_inline(struct wqe *wqe, const void *data, uint32_t bytes);
/* An address vector, all of it, to this end's device and QP: by LID, or by GID
 * with traffic class 0xab, hop limit 7, flow label 0x12345. */
void wqe_av(struct wqe *wqe, const struct end *to, uint32_t qkey, bool global);
/* The same of a DCI, to a DCT there; one unit of it if the options say so. */
void wqe_dc_av(struct wqe *wqe, const struct end *to, uint32_t dct,
               uint64_t key);
void wqe_atomic(struct wqe *wqe, uint64_t operand, uint64_t compare);

/* The three segments of a bind: the memory of `end` at that offset, which a
 * region's key means, is what the window of *ctrl's key means from now on,
 * under that low byte. 0 bytes: nothing. */
struct binding {
    unsigned type;
    uint32_t key;
    uint8_t variant;
    uint8_t access; /* key.h */
    uint32_t region;
    size_t offset;
    uint32_t bytes;
};
struct wqe wqe_bind(const struct end *end, const struct binding *binding);

/* The usual ones, between the same offsets of both memories. */
struct wqe wqe_write(const struct end *end, size_t offset, uint32_t bytes);
struct wqe wqe_read(const struct end *end, size_t offset, uint32_t bytes);
struct wqe wqe_send(const struct end *end, size_t offset, uint32_t bytes);

/* Into the ring, DS filled in if it is 0; no doorbell. */
void post(struct end *end, struct wqe *wqe);
void post_bytes(struct end *end, const uint8_t *bytes, size_t count);
/* Record, then the register, with the first bytes of the last WQE. */
void ring(struct end *end);
void ring_register(struct end *end, size_t offset, const uint8_t word[8]);
void set_record(struct end *end, unsigned word, uint32_t value);
/* All three, and runs both devices. */
void run_one(struct end *end, struct wqe *wqe);

/* Posts a receive of one element. */
void post_receive(struct end *end, size_t offset, uint32_t bytes);
/* Of these bytes as they are. */
void post_receive_bytes(struct end *end, const uint8_t *bytes, size_t count);

/* A CQE as its bytes say. */
struct cqe {
    uint8_t opcode;
    bool solicited;
    uint8_t syndrome;
    uint8_t vendor;
    uint8_t wqe_opcode;
    uint16_t counter;
    uint32_t qpn;
    uint32_t user_index;
    uint32_t bytes;
    uint32_t imm;
    uint32_t peer; /* with the flags above it */
    uint16_t lid;
};

/* Takes the next one, and tells the record so. False: none. */
bool take_cqe(struct queue *queue, struct cqe *cqe);
/* The same; it is there, is a success, and of that index. */
struct cqe expect_cqe(struct queue *queue, uint8_t opcode, uint16_t counter);
struct cqe expect_error(struct queue *queue, uint8_t syndrome,
                        uint16_t counter);
void expect_none(struct queue *queue);

/* All of both memories: different everywhere. */
void fill_memory(struct place *place);

#endif
