/*
 * The address of a process on the wire: all that others need to send to it, as
 * one row of bytes. Members of a stream communicator give it to each other in
 * the collective that makes that, and it goes nowhere else: it has the key.
 *
 *   version    of this form and of the frames; others are refused with a line
 *   process    64 random bits: who it is. Drawn when its worker opens, so a
 *              process that closes its wire and opens it again is another one
 *   key        128 random bits, drawn with it: what is sent to the process is
 *              sealed with it (seal.h), and who does not have it is not heard
 *   workers    where it is reached, by the way; one that it has not has no
 *              bytes. NEAR is an inbox.h place, NET an address of UCX
 *
 * The bytes may grow while the wire is open (a worker is added), process and
 * key stay. So peers are told apart by process, never by bytes.
 *
 * Pure; plain values. Host byte order: all processes of a job have the same.
 */
#ifndef MGDS_GDS_WIRE_ADDRESS_H
#define MGDS_GDS_WIRE_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/siphash.h"

/* Goes up with every change of the address or of what frames look like. */
enum { MGDS_WIRE_VERSION = 1 };

enum mgds_wire_worker {
    MGDS_WIRE_WORKER_NEAR, /* reaches processes of this host (inbox.h) */
    MGDS_WIRE_WORKER_NET,  /* reaches all that have one, by the network */
    MGDS_WIRE_WORKERS
};

struct mgds_wire_identity {
    uint64_t process; /* never 0 */
    struct mgds_siphash_key key;
    struct mgds_wire_where {
        const void *address; /* borrowed */
        size_t bytes;
    } worker[MGDS_WIRE_WORKERS];
};

/* A new process and key, and no workers. 0, or negative errno, with a line. */
int mgds_wire_identity_draw(struct mgds_wire_identity *out);

/* How many bytes the address has. */
size_t mgds_wire_address_bytes(const struct mgds_wire_identity *who);

/* Writes that many. */
void mgds_wire_address_write(void *out, const struct mgds_wire_identity *who);

/* Reads one that came; workers point into it. Bytes behind the end are
 * allowed, for rows of equal length. -EINVAL: it is none, or names no worker;
 * -EPROTO: of another version. One line has said so. */
int mgds_wire_address_read(struct mgds_wire_identity *out, const void *address,
                           size_t bytes);

#endif
