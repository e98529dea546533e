/*
 * How the bytes of a message move. Its sender chooses a protocol at the call
 * (start.c, means.h), and its RTS names it. Neither end changes it afterwards,
 * but for one refusal: a receiver that cannot read the sender's memory says so
 * when it asks for the message, and the message goes by fragments, once and
 * counted (pull_refused; fallback.h).
 *
 *   protocol   where the bytes are            who moves them
 *   fragments  a pinned copy, host memory, or the CPUs, when its receiver asked
 *              memory for which there is no   (PULL) and the sender's stream
 *              pinned copy (lean)             came: DATA, of all bytes at once,
 *                                             or in parts (flow.h)
 *   eager      a slot of the receiver's ring  the sender's stream stores them
 *                                             there, the receive's takes them
 *   rget       the sender's memory, mapped    the receive's stream
 *
 * Of eager and rget, what the receive's stream does not take a kernel of ours
 * copies: asked for, the sender says by DATA when that may begin.
 *
 * What differs is here: a row of constants and functions for each. What is the
 * same for all is in exchange.c, which calls the rows, and knows none by name.
 * All functions are called under the engine's lock. */
#ifndef MGDS_PROTO_PROTOCOL_H
#define MGDS_PROTO_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_message;
struct mgds_op;
struct mgds_rts;
struct mgds_command;

/* As RTSs have them. */
enum mgds_protocol_id {
    MGDS_PROTOCOL_FRAGMENTS,
    MGDS_PROTOCOL_EAGER,
    MGDS_PROTOCOL_RGET,
    MGDS_PROTOCOLS
};

/* What tells a kernel where a message is; all 0 before it is filled in. */
struct mgds_take_record {
    uint64_t serial, address, length, form;
    uint64_t source, done; /* of rget alone */
};

struct mgds_protocol {
    enum mgds_protocol_id id;
    bool slotted;  /* a word of the receiver's ring tells when it is there: the
                      receive's stream may take it, without the CPUs */
    bool copied;   /* its receiver reads it out of the sender's memory. It may
                      refuse to (fallback.h) */
    bool carried;  /* asked for, DATA brings its bytes; else DATA says that they
                      may be copied where they are (fetch.h) */
    bool buffered; /* its sender's buffer is free when the stream has come there
                    */
    /* A send is called: what its RTS says beside the common part. */
    void (*describe)(const struct mgds_op *op, struct mgds_rts *rts);
    /* What its stream does where the send stands; false: nothing. */
    bool (*command)(const struct mgds_op *op, struct mgds_command *command);
    /* Its stream has done that. */
    void (*reached)(struct mgds_op *op);
    /* And it was asked for (ASKED). */
    void (*answer)(struct mgds_op *op);
    /* An RTS came, whose common part is in the message already. Negative errno:
     * it cannot be had so, and comes by fragments. */
    int (*accept)(struct mgds_message *message, const struct mgds_rts *rts);
    /* A receive's stream takes the message: where it finds that. Slotted ones
     * alone. */
    void (*record)(const struct mgds_op *op, struct mgds_take_record *record);
};

extern const struct mgds_protocol mgds_fragments, mgds_eager, mgds_rget;

/* That an RTS names; NULL: there is none of that number. */
const struct mgds_protocol *mgds_protocol_of(unsigned id);

#endif
