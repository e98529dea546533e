/* Well-formed envelopes that come over the wire of fake_wire.h, for a
 * communicator and messages that all tests of envelopes call the same. */
#ifndef MGDS_TEST_WIRE_COME_H
#define MGDS_TEST_WIRE_COME_H

#include <errno.h>

#include "tests/unit/fake_wire.h"

/* Of the communicator, and of messages. */
enum { ID = 77, TAG = 5 };

/* What wire_come says of an envelope that no body is due for. */
enum { HEARD = -ENOSYS };

void wire_come_rts(const struct mgds_rts *rts);
void wire_come_taken(uint64_t request_id, uint32_t rank);
/* Of a request ID by a rank: a PULL, and how its send ends. */
void wire_come_pull(uint64_t request_id, uint64_t bytes, uint32_t rank);
void wire_come_ended(uint64_t request_id, int error, uint32_t rank);
/* Bytes of 0x11. What the wire was told. */
int wire_come_data(uint64_t answer, size_t bytes, uint32_t rank);

#endif
