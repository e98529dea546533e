/* Where tests of envelopes run: a communicator of host memory on a wire that
 * goes nowhere (fake_wire.h), operations of it, and envelopes of other ranks.
 */
#ifndef MGDS_TEST_ENVELOPE_PLACE_H
#define MGDS_TEST_ENVELOPE_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"
#include "tests/unit/wire_come.h"

/* This is rank 0; OTHER has two streams, THIRD none. */
enum { SELF, OTHER, THIRD, RANKS, OTHER_STREAMS = 2, OWN_STREAMS = 2 };
enum { BYTES = 100, LONG_BYTES = 100000 };

struct env_place {
    struct mgds_comm *comm;
    struct mgds_layout *layout; /* a byte */
    unsigned char *memory;      /* LONG_BYTES and a margin */
    uint64_t refused;           /* before */
};

void env_open(struct env_place *place);
/* With so many streams of our own, the CPU's; members do not know of them. */
void env_open_with(struct env_place *place, unsigned streams);
/* The same in two steps: with a wire; then the communicator, with that id. */
void env_open_early(struct env_place *place);
void env_make(struct env_place *place, uint64_t id);
void env_close(struct env_place *place);

/* Refusals since the last question. */
unsigned env_refused(struct env_place *place);

struct mgds_xfer env_xfer_of(const struct env_place *place, size_t bytes);

/* Long ones stay on this side until they were asked for. */
struct mgds_op *env_send_to_other(struct env_place *place, size_t bytes);
struct mgds_op *env_recv_from_other(struct env_place *place, size_t bytes);

/* A well-formed one. */
struct mgds_rts env_rts_of(uint64_t number, size_t bytes);

/* A receive of which the bytes were asked for; its request ID. */
uint64_t env_asked(struct env_place *place, struct mgds_op **op, size_t bytes,
                   size_t sent);

/* Of the send that was called last. */
uint64_t env_request_id_of_send(void);

/* It is over now, and goes: its error. */
int env_ends(struct mgds_op *op);

/* The receive has asked OTHER for BYTES bytes, which come now: it is over,
 * well, and goes. */
void env_assert_brings_all(struct mgds_op *op);

/* So many bytes came, and those behind them are as they were. */
void env_assert_landed(const struct env_place *place, size_t bytes);

#endif
