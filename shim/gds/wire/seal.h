/*
 * Seals: a frame is heard only if a process that was given our address made it
 * for us, and once.
 *
 *   tag     SipHash-2-4 under the receiver's key over
 *             from, to     processes, in this order: one direction
 *             number       of that direction, counted by the sender
 *             kind, length of the body; the head, request ids among it
 *   frame   -> wrong length, other tag: forged    never looked into, not kept,
 *           -> number has come: replayed          counted, said once
 *           -> admitted: its number has come now
 *
 * The body has no tag: whoever can change packets on their way is not held off
 * (docs/security.md). Who has our key can speak for every process that has it:
 * members of a communicator trust each other.
 *
 * A record of a sender is made by its first frame that is sealed, which may
 * come before we know its address; it stays until the wire is closed, and so
 * does its process number: what it sent is not heard again.
 *
 * Pure but for the records, which are of their owner's lock.
 */
#ifndef MGDS_GDS_WIRE_SEAL_H
#define MGDS_GDS_WIRE_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/siphash.h"
#include "shim/gds/wire/address.h"
#include "shim/gds/wire/frame.h"

/* Before the first frame from one process to another: the key is the
 * receiver's. */
struct mgds_siphash mgds_seal_begin(const struct mgds_siphash_key *key,
                                    uint64_t from, uint64_t to);

/* The tag of a frame of so many bytes, of which all else is filled in. */
uint64_t mgds_seal_tag(const struct mgds_siphash *begun,
                       const struct mgds_wire_frame *frame, size_t bytes);

enum { MGDS_SENDER_BUCKETS = 256 };

/* Those who have sent to us. All 0: nobody. */
struct mgds_senders {
    struct mgds_sender *bucket[MGDS_SENDER_BUCKETS];
};

/* What came for self: bytes of header, and that much body. 0: it is genuine and
 * new, and so many bytes of frame are filled in. -EBADMSG: forged; -EALREADY:
 * replayed; -ENOMEM: genuine, but there is no room for it. Then nothing has
 * changed. */
int mgds_senders_admit(struct mgds_senders *senders,
                       const struct mgds_wire_identity *self,
                       struct mgds_wire_frame *frame, const void *header,
                       size_t bytes, size_t body_bytes);

/* Nobody. */
void mgds_senders_fini(struct mgds_senders *senders);

#endif
