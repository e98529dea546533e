/*
 * What an operation needs of ours before it is called: memory that its bytes go
 * through, words that its stream and the CPU tell each other by, the claim to a
 * long message; or none of it, where the receiver copies the message itself
 * (rget.h).
 */
#ifndef MGDS_COMM_MEANS_H
#define MGDS_COMM_MEANS_H

#include <stdbool.h>

struct mgds_comm;
struct mgds_op;
struct mgds_xfer;

/* How long a call waits for what it cannot do without. */
#define MGDS_MEANS_INSIST_NS 10000000000u

/* Of an op that is being made, in the call, without a lock: makes driver calls
 * where pools are cold, may wait some milliseconds for the receiver to map the
 * memory. -ENOMEM, -EXDEV, or what the driver says: mgds_op_give_means takes
 * back what there is. */
int mgds_means_make(struct mgds_op *op, struct mgds_comm *comm,
                    const struct mgds_xfer *xfer);

/* It was not called: slots go back. Without the lock. */
void mgds_means_cancel(struct mgds_op *op);

/* Whether kernels of its stream read or write all of the buffer, in a row. */
bool mgds_means_fit(const struct mgds_op *op, const struct mgds_xfer *xfer);

#endif
