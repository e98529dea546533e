/* Fragments: the CPUs move the bytes; see protocol.h. */
#ifndef MGDS_PROTO_FRAGMENTS_H
#define MGDS_PROTO_FRAGMENTS_H

struct mgds_op;

/* The send's bytes go to its receiver, or its error does. Under the engine's
 * lock. */
void mgds_fragments_answer(struct mgds_op *op);

#endif
