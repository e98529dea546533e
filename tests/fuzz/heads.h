/* Heads of envelopes as the fuzzer's members send them: of any kind, mostly
 * about what is under way (world.h). */
#ifndef MGDS_TEST_HEADS_H
#define MGDS_TEST_HEADS_H

#include <stddef.h>

#include "shim/gds/msg/envelope.h"

/* One of that kind, from that rank; its length, and that of the body that it
 * says. */
size_t heads_draw(union mgds_envelope_head *head, unsigned kind,
                  unsigned sender, size_t *body_bytes);

#endif
