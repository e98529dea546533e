/* The matcher's pairs; see pair.h. */
#include "shim/gds/comm/pair.h"

#include <errno.h>

#include "shim/gds/comm/broken.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/comm/fail.h"
#include "shim/gds/comm/note.h"
#include "shim/gds/msg/op.h"

static int error_of(const struct mgds_op *op,
                    const struct mgds_message *message)
{
    if (message->bytes > op->call->bytes)
        return -EMSGSIZE;
    return mgds_layout_tears(op->call->user.layout, message->bytes) ? -EBADMSG
                                                                    : 0;
}

void mgds_paired(void *comm, struct mgds_match_recv *recv,
                 struct mgds_match_send *send)
{
    struct mgds_op *op = ((struct mgds_op_receiver *)(void *)recv)->op;
    struct mgds_message *message = (struct mgds_message *)(void *)send;
    const int error = error_of(op, message);

    (void)comm;
    op->recv->message = message;
    message->op = op;
    op->status.source = (int)message->rank;
    op->status.tag = message->match.tag;
    op->status.index = (int)message->index;
    mgds_note_matched(op);
    if (error)
        op->error = error;
    /* nothing more comes of such */
    if (!mgds_op_fail_if_lost(op) && !mgds_broken_fails(op))
        mgds_exchange_matched(op);
}
