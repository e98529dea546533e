/*
 * How the bytes of a message get from one end to the other. A protocol
 * (proto/protocol.h) says who moves them and when, and asks for no transport by
 * its name: it asks the one of its channel, or what that can do.
 *
 *   transport  channels  one_process  between
 *   self          x           x       streams of one context
 *   p2p           x                   GPUs of a host that are peers
 *   ib-cpu        x                   GPUs of hosts with HCAs
 *   host                              any two processes
 *
 *   channels     kernels of the sender's stream store into the receiver's ring,
 *                or a mirror of it (relay), and kernels at the receiver read
 *                memory that the sender has exposed, where one can be
 *   one_process  both ends are here: addresses mean the same at both, and what
 *                one says the other can look up
 *
 * Where a channel (channel.h) can be had its transport is chosen when the
 * communicator is made (connect.c); host is for what has none.
 */
#ifndef MGDS_TRANSPORT_TRANSPORT_H
#define MGDS_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/config.h"
#include "shim/gds/mem/export.h"
#include "shim/gds/wire/wire.h"

struct mgds_channel;
struct mgds_comm;
struct mgds_op;
struct mgds_rts;
struct mgds_xfer;

/* Whether the receiver can read memory of the sender's. SOON: it was told just
 * now, and can when its program makes a call: worth to wait a little, since
 * staging so many bytes takes longer. TOLD: not soon, but later. */
enum mgds_exposure {
    MGDS_EXPOSURE_REFUSED,
    MGDS_EXPOSURE_TOLD,
    MGDS_EXPOSURE_SOON,
    MGDS_EXPOSURE_KNOWN,
};

/* Memory that a send is to be read from. */
struct mgds_exposing {
    struct mgds_comm *comm;
    struct mgds_channel *channel;
    const struct mgds_xfer *xfer;
    size_t bytes;
    struct mgds_export_handle handle; /* by name_memory */
};

struct mgds_transport {
    enum mgds_path path; /* its name to users */
    bool one_process;
    /* With channels. The remote key of the memory of a send that is about to be
     * made: without a lock, may ask the driver. False: it has none. */
    bool (*name_memory)(struct mgds_exposing *exposing,
                        const struct mgds_op *op);
    /* With channels. Has the receiver it, or is it told now? Under the engine's
     * lock. */
    enum mgds_exposure (*expose)(const struct mgds_exposing *exposing);
    /* With channels. What an RTS says of the memory: 0 in one process. */
    uint64_t (*key_of)(const struct mgds_op *op);
    /* With channels. At the receiver: where such memory is for its kernels; 0:
     * it cannot be had, or is not as large. Under the engine's lock. */
    uint64_t (*reach)(struct mgds_channel *channel, const struct mgds_rts *rts);
    /* With channels. The receiver could not read the memory of that send: it is
     * not offered again. Under the engine's lock. */
    void (*unreachable)(struct mgds_channel *channel, const struct mgds_op *op);
    /* NULL: what the sender's stream stored is in the ring. Else it is in a
     * mirror, the stream came behind that, and its units are to be brought
     * over; mgds_exchange_reached follows, in this call or later, also if that
     * fails. Under the engine's lock. */
    void (*relay)(struct mgds_op *op);
    /* The CPU sends bytes in host memory. Under the engine's lock: done
     * follows, as wire.h says, if this is 0. */
    int (*post)(struct mgds_wire_peer *peer,
                const struct mgds_wire_message *message);
};

extern const struct mgds_transport mgds_self, mgds_p2p, mgds_ib_cpu, mgds_host;

/* How what mgds_ib_cpu has pushed is over (far.h). */
void mgds_ib_cpu_over(void *arg, int error, const char *why);

#endif
