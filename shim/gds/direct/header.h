/*
 * The header that travels below in the place of a long message in GPU memory
 * (docs/header-rendezvous.md): where the bytes are, and a proof that it is a
 * header of this job. A message of the program's may have the same length; none
 * has the same cookie and checksum.
 *
 *   cookie 16 | header | checksum 8     = MGDS_HEADER_BYTES
 *
 * Processes of one host send headers to each other, so numbers are in the order
 * of its bytes. Pure.
 */
#ifndef MGDS_DIRECT_HEADER_H
#define MGDS_DIRECT_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/siphash.h"
#include "shim/gds/mem/export.h"

/* A multiple of 16, so that basic types do not straddle its end. */
enum { MGDS_HEADER_BYTES = 160 };

/* What the processes of a job agree on: nobody else can make a header. */
struct mgds_header_secret {
    uint64_t cookie[2];
    struct mgds_siphash_key key;
};

struct mgds_header {
    int32_t sender; /* in MPI_COMM_WORLD */
    int32_t receiver;
    int32_t source; /* the sender, in the message's communicator */
    int32_t tag;
    uint64_t serial;  /* of the slot's use; never used twice by a process */
    uint64_t bytes;   /* of the message: at least MGDS_HEADER_BYTES */
    uint64_t address; /* where they are, in the sender */
    struct mgds_export_handle memory; /* the allocation that they lie in */
    uint32_t slot;                    /* of the sender's board */
    uint32_t device;                  /* of the memory, in the sender */
};

void mgds_header_encode(unsigned char out[MGDS_HEADER_BYTES],
                        const struct mgds_header *header,
                        const struct mgds_header_secret *secret);

/* Whether it is one of this job, whose bytes lie in the memory that it names;
 * else *out is not to be used. */
bool mgds_header_decode(struct mgds_header *out,
                        const unsigned char in[MGDS_HEADER_BYTES],
                        const struct mgds_header_secret *secret);

#endif
