/*
 * What communicators say to each other over the wire. Both ends are of one job
 * and one build: plain structs. Request IDs (request_ids.h) name operations of
 * their owner, from the call until its last step; what names one must be of its
 * kind, from its peer, and due.
 *
 *   sender                          receiver
 *   RTS (number, tag, bytes)  ---->  matches
 *   reads the bytes when it   <----  PULL (how many bytes, where they go)
 *   was reached
 *   DATA                      ---->  lands in place
 *
 *   one of which an end is    <----  PULL, in parts of so many bytes
 *   short of memory           ---->  DATA without bytes: of how many bytes
 *   (docs/fragments.md)       <----  GRANT (for how many there is memory)
 *   DATA (first byte)         ---->  lands, is copied, and so on
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
 *   RTS with an address that  ---->  matches
 *   cannot be read there      <----  PULL that refuses to copy it, before
 *   DATA                      ---->  anything of it was read: lands in place
 *
 *   RTS                       ---->
 *                             <----  SUBSCRIBE, if a receive from any source,
 *   REACHED (number)          ---->  or a probe, was called (wildcards.h)
 *
 *                             <----  HELLO, before the first receive from the
 *                                    rank: the connection tells of its end
 *
 *   REVOKE (number)           ---->  a wait on a stream takes too long: nobody
 *                                    is to match it
 *                             <----  ENDED: nobody will; or, without an error,
 *                                    somebody has
 *                             <----  ENDED, by itself: its receive has failed
 *
 *   BROKEN (number)           ---->  its bytes will not come into the ring: who
 *                                    receives it fails (broken.h)
 *
 *   Between processes, whatever the communicator (transport/ring_pair.h):
 *
 *   RING_ASKED (units)        ---->  makes a ring for this process's messages
 *   maps it, has it from now  <----  RING_TOLD
 *   on
 *                             <----  RING_TOLD, by itself: done words
 *   maps them                 ---->  RING_MAPPED: long messages may name them
 *                             <----  RING_SHORT: it has no memory for more
 *   has closed its mapping of ---->  RING_CLOSED: it may be freed
 *   one that it does not use
 *
 * The wire brings only what a process of the job has sent to us, and says which
 * (wire/seal.h). More is not trusted. What cannot be true is refused and
 * counted; a line names kind, rank and reason (of the first sixteen). The rank
 * is what the envelope says, and must be that process's in the communicator
 * that it is of; nobody is punished for what is refused:
 *
 *   another length than its kind's, nobody's,  is ignored, as if it had not
 *   of another process than its rank's,        come: who really waits goes on
 *   or for no operation that waits for it
 *   RTS with a place outside its rings         comes on demand
 *   RTS with memory that is not mapped         comes on demand, too
 *   PULL of more than the send has,            the operation that it names, and
 *   DATA of another length than was asked for  was due, ends with EIO
 */
#ifndef MGDS_MSG_ENVELOPE_H
#define MGDS_MSG_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/proto/protocol.h"
#include "shim/gds/mem/export.h"
#include "shim/gds/proto/ring.h"

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
    MGDS_ENVELOPE_REVOKE,
    MGDS_ENVELOPE_ENDED,
    MGDS_ENVELOPE_GRANT,
    MGDS_ENVELOPE_BROKEN,
    MGDS_ENVELOPE_RING_ASKED,
    MGDS_ENVELOPE_RING_TOLD,
    MGDS_ENVELOPE_RING_MAPPED,
    MGDS_ENVELOPE_RING_SHORT,
    MGDS_ENVELOPE_RING_CLOSED,
    MGDS_ENVELOPES,
};

/* rank, index: of the sender, in the group that the receiver knows it by.
 * to_index: the receiver's stream index. */
struct mgds_rts {
    uint64_t comm, number, request_id, bytes;
    int32_t tag;
    uint32_t rank;
    uint16_t index, to_index;
    uint32_t ring;      /* the number of the receiver's ring that it comes in */
    uint32_t done : 27; /* of the sender's done words (transport/dones.h), the
                           one that says that it was copied */
    uint32_t protocol : 2; /* enum mgds_protocol_id */
    uint32_t reached : 1;
    uint32_t sync : 1;   /* it is done when the receive's stream is there */
    uint32_t stands : 1; /* the sender's stream waits for `done` itself: that
                            its CPU hears of it is not urgent */
    uint32_t units;      /* where in that ring it comes, in units */
    uint64_t serial;     /* that its units carry there; 0: it has none there */
    /* of one that its receiver copies alone: each word takes time to seal */
    uint64_t address; /* it is copied from here, memory of the sender's, when
                         its one unit there carries the serial; 0: it comes in
                         units */
    uint64_t export;  /* whose id is this; 0: of the same process */
};

enum { MGDS_RTS_DONE_MOST = (1 << 27) - 1 };

/* As it goes over the wire. */
static inline size_t mgds_rts_bytes(const struct mgds_rts *rts)
{
    return rts->address ? sizeof(*rts) : offsetof(struct mgds_rts, address);
}

struct mgds_pull {
    uint64_t request_id; /* the send's */
    uint64_t answer;     /* the receive's request ID */
    uint64_t bytes;
    uint32_t rank;   /* of who asks */
    int32_t refused; /* negative errno: the receiver was to copy the message and
                        cannot: its bytes are to come */
    uint32_t part;   /* in parts of so many bytes at most, of which GRANT tells
                        how many may come; 0: all may */
    uint32_t reserved;
};

struct mgds_data {
    uint64_t answer;
    int32_t error;  /* negative errno: the send failed, no bytes come */
    uint32_t rank;  /* of the sender */
    uint64_t first; /* where the bytes of a part begin; without bytes: how many
                       come at a time */
    uint32_t part;  /* not 0: they come in parts */
    uint32_t reserved;
};

enum { MGDS_TAKEN_MOST = 16 };

/* Taken from the ring: neither DATA nor their places there are needed. As long
 * as its count says. */
struct mgds_taken {
    uint32_t count;
    uint32_t rank;                        /* of who took them */
    uint64_t request_id[MGDS_TAKEN_MOST]; /* of sends */
};

struct mgds_tell {
    uint64_t comm, number;
    uint32_t rank, index, to_index;
    uint32_t reserved;
};

/* Memory of the process of rank, which its messages are in. The same way as
 * theirs: rank, index of the sender. */
struct mgds_exported {
    uint64_t comm;
    uint32_t rank, index, to_index;
    uint32_t gone; /* it is not used any more */
    struct mgds_export_handle handle;
};

/* The answer: rank, index of who answers, to_index of who exports. */
struct mgds_imported {
    uint64_t comm, export;
    uint32_t rank, index, to_index;
    int32_t error; /* negative errno: it cannot be mapped */
};

/* Nobody is to receive that message of the sender's (expire.h). */
struct mgds_revoke {
    struct mgds_tell message; /* first */
    uint64_t request_id;      /* the send's */
    uint32_t receiver;        /* the rank that it is for */
    uint32_t reserved;
};

/* Nobody reads that send's bytes any more: it ends with the error; or it is 0:
 * the message was matched, and will be received. */
struct mgds_ended {
    uint64_t request_id;
    int32_t error;
    uint32_t rank; /* of the receiver */
};

/* There is memory for so many bytes, from the first one on. */
struct mgds_grant {
    uint64_t request_id; /* the send's */
    uint64_t bytes;
    uint32_t rank; /* of the receiver */
    uint32_t reserved;
};

/* That message of the sender's does not come: its receive ends so. */
struct mgds_broken {
    struct mgds_tell message; /* first */
    int32_t error;            /* negative errno */
    uint32_t reserved;
};

/* The two contexts that a ring is between, by the driver's ids for them. */
struct mgds_ring_ends {
    uint64_t from; /* of who says this */
    uint64_t to;
};

struct mgds_ring_asked {
    struct mgds_ring_ends ends;
    uint64_t token; /* the answer has it, too; not 0 */
    uint32_t units; /* at least */
    uint32_t reserved;
};

struct mgds_ring_told {
    struct mgds_ring_ends ends;
    uint64_t token;  /* 0: done words, that nobody has asked for */
    int32_t error;   /* negative errno: there is none */
    uint32_t number; /* by which messages name it; not 0 */
    struct mgds_ring_handle handle;
};

/* MAPPED, SHORT, CLOSED. */
struct mgds_ring_said {
    struct mgds_ring_ends ends;
    uint32_t number; /* of the other end's ring; of SHORT 0 */
    int32_t error;   /* negative errno: it cannot be mapped, or, of CLOSED, was
                        not */
};

union mgds_envelope_head {
    struct mgds_rts rts;
    struct mgds_pull pull;
    struct mgds_data data;
    struct mgds_tell tell; /* REACHED, SUBSCRIBE, HELLO */
    struct mgds_taken taken;
    struct mgds_exported exported;
    struct mgds_imported imported;
    struct mgds_revoke revoke;
    struct mgds_ended ended;
    struct mgds_grant grant;
    struct mgds_broken broken;
    struct mgds_ring_asked ring_asked;
    struct mgds_ring_told ring_told;
    struct mgds_ring_said ring_said;
};

/* The streams that an envelope of a communicator is from and for. */
struct mgds_envelope_ends {
    uint32_t rank, index, to_index;
};
struct mgds_envelope_ends
mgds_envelope_ends(enum mgds_envelope kind,
                   const union mgds_envelope_head *head);

/* The communicator that it is of; kinds that name operations have none. */
uint64_t mgds_envelope_comm(enum mgds_envelope kind,
                            const union mgds_envelope_head *head);

/* Whether it is of two processes, and of no communicator. */
bool mgds_envelope_is_of_processes(enum mgds_envelope kind);

/* Whether it speaks of a message, whose RTS it may overtake. */
bool mgds_envelope_needs_rts(enum mgds_envelope kind);

/* As it came over the wire: 0; -EPROTO: it is refused, since its length, or a
 * value, is none that its kind can have. Whom and what it names is not looked
 * at. */
int mgds_envelope_open(union mgds_envelope_head *out, enum mgds_envelope kind,
                       const void *head, size_t head_bytes, size_t body_bytes);

/* The line, and the count. Any thread. */
void mgds_envelope_refuse_ring(enum mgds_envelope kind, const char *why);
void mgds_envelope_refuse(enum mgds_envelope kind, uint32_t rank,
                          const char *why);

#endif
