/*
 * What domains say to each other over the wire. Both ends are of one job and
 * one build: plain structs. Cookies are addresses of records that their owner
 * keeps until the answer has come.
 *
 *   sender                          receiver
 *   RTS (number, tag, bytes)  ---->  matches
 *   reads the bytes when it   <----  PULL (how many bytes, where they go)
 *   was reached
 *   DATA                      ---->  lands in place
 *
 *   RTS with a serial         ---->  matches: a stream that waits takes the
 *                             <----  message out of its ring, then TAKEN; or
 *                                    PULL as above
 *
 *   EXPORT (memory)           ---->  maps it, in a host call
 *   RTS with an address in it <----  IMPORTED: from now on
 *                             ---->  matches: a stream that waits copies the
 *                             <----  message, then TAKEN; or PULL
 *   DATA without bytes, when  ---->  copies it otherwise, then TAKEN
 *   it was reached
 *
 *                             <----  SUBSCRIBE, before the first receive from
 *   REACHED (number)          ---->  any source, or probe
 *
 *                             <----  HELLO, before the first receive from the
 *                                    rank: the connection tells of its end
 */
#ifndef MGDS_DOMAIN_ENVELOPE_H
#define MGDS_DOMAIN_ENVELOPE_H

#include <stdint.h>

#include "shim/gds/ring/export.h"

enum mgds_envelope {
    MGDS_ENVELOPE_NONE, /* a note that is not used */
    MGDS_ENVELOPE_RTS,
    MGDS_ENVELOPE_PULL,
    MGDS_ENVELOPE_DATA,
    MGDS_ENVELOPE_REACHED,
    MGDS_ENVELOPE_SUBSCRIBE,
    MGDS_ENVELOPE_TAKEN,
    MGDS_ENVELOPE_HELLO,
    MGDS_ENVELOPE_EXPORT,
    MGDS_ENVELOPE_IMPORTED,
    MGDS_ENVELOPES,
};

/* rank, index: of the sender, in the group that the receiver knows it by.
 * to_index: the receiver's stream index. */
struct mgds_rts {
    uint64_t domain, number, cookie, bytes;
    int32_t tag;
    uint32_t rank, index, to_index;
    uint32_t reached;
    uint32_t sync;    /* it is done when the receive's stream is there */
    uint32_t done;    /* from the sender's region for this receiver's stream on,
                         in units: the word that says that it was copied */
    uint32_t units;   /* where in the receiver's ring it comes, in units */
    uint64_t serial;  /* that its units carry there; 0: only on demand (PULL) */
    uint64_t address; /* 0: it comes in units; else the receiver copies it from
                         here, memory of the sender's, when its one unit there
                         carries the serial */
    uint64_t export;  /* whose id is this; 0: of the same process */
    uint32_t stands;  /* the sender's stream waits for `done` itself: that its
                         CPU hears of it is not urgent */
    uint32_t reserved;
};

struct mgds_pull {
    uint64_t cookie; /* the send's */
    uint64_t answer; /* the receive's */
    uint64_t bytes;
};

struct mgds_data {
    uint64_t answer;
    int32_t error; /* negative errno: the send failed, no bytes come */
    uint32_t reserved;
};

enum { MGDS_TAKEN_MOST = 16 };

/* Taken from the ring: neither DATA nor their places there are needed. As long
 * as its count says. */
struct mgds_taken {
    uint64_t count;
    uint64_t cookie[MGDS_TAKEN_MOST]; /* of sends */
};

struct mgds_tell {
    uint64_t domain, number;
    uint32_t rank, index, to_index;
    uint32_t reserved;
};

/* Memory of the process of rank, which its messages are in. The same way as
 * theirs: rank, index of the sender. */
struct mgds_exported {
    uint64_t domain;
    uint32_t rank, index, to_index;
    uint32_t gone; /* it is not used any more */
    struct mgds_export_handle handle;
};

/* The answer: rank, index of who answers, to_index of who exports. */
struct mgds_imported {
    uint64_t domain, export;
    uint32_t rank, index, to_index;
    int32_t error; /* negative errno: it cannot be mapped */
};

union mgds_envelope_head {
    struct mgds_rts rts;
    struct mgds_pull pull;
    struct mgds_data data;
    struct mgds_tell tell; /* REACHED, SUBSCRIBE, HELLO */
    struct mgds_taken taken;
    struct mgds_exported exported;
    struct mgds_imported imported;
};

#endif
