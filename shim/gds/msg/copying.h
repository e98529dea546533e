/* Work items that copy the bytes of an operation where no stream does: out of
 * its bounce (orphan.h), or into it (proto/fallback.h). Such an item is the
 * operation's own, and holds a reference to it. */
#ifndef MGDS_MSG_COPYING_H
#define MGDS_MSG_COPYING_H

#include <stdbool.h>

struct mgds_op;
struct mgds_work;

struct mgds_op *mgds_copying_op(const struct mgds_work *work);

/* The item was run: over, its reference goes, too; or it is to be run again.
 * Under the engine's lock. */
void mgds_copying_end(struct mgds_op *op, bool over);

/* The engine ends. A copy may be under way: the operation's record stays, and
 * is nobody's any more. */
void mgds_copying_drop(struct mgds_work *work);

#endif
