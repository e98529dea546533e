/* Waits in words; see report.h. */
#include "shim/gds/comm/report.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/text.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"

/* Lines about operations that are lost. */
enum { NAMED = 16 };

static void add_rank(struct mgds_text *text, int rank)
{
    if (rank < 0)
        mgds_text_add(text, "any rank");
    else
        mgds_text_add(text, "rank %d", rank);
}

static void add_tag(struct mgds_text *text, int tag)
{
    if (tag < 0)
        mgds_text_add(text, ", any tag");
    else
        mgds_text_add(text, ", tag %d", tag);
}

static void add_comm(struct mgds_text *text, const struct mgds_comm *comm)
{
    if (comm->name[0])
        mgds_text_add(text, ", communicator \"%s\"", comm->name);
    else
        mgds_text_add(text, ", communicator without a name");
}

static void add_waiter(struct mgds_text *text, const struct mgds_waiter *waiter)
{
    uint64_t now = mgds_clock_ns();
    double seconds =
        now > waiter->since ? 1e-9 * (double)(now - waiter->since) : 0;

    if (waiter->timeline)
        mgds_text_add(text, "stream 0x%" PRIx64,
                      mgds_gstream_name(waiter->timeline->stream));
    else
        mgds_text_add(text, "%s", waiter->call);
    mgds_text_add(text, " stands for %.1f s at ", seconds);
}

/* Each of the following says why, if it knows. */

static bool say_not_reached(struct mgds_text *text, const struct mgds_op *op,
                            const struct mgds_waiter *waiter)
{
    if (!op->timeline || mgds_op_is_reached(op) ||
        op->timeline == waiter->timeline)
        return false;
    mgds_text_add(
        text, "the stream of the %s, 0x%" PRIx64 ", has not come to it",
        op->send ? "send" : "receive", mgds_gstream_name(op->timeline->stream));
    return true;
}

static bool say_kept(struct mgds_text *text, const struct mgds_op *op)
{
    if (!op->send || !op->send->keep || mgds_op_is_reached(op))
        return false;
    mgds_text_add(text, "its bytes are being copied to host memory");
    return true;
}

static bool say_lost(struct mgds_text *text, const struct mgds_op *op, int rank)
{
    if (mgds_comm_lost(op->comm, rank) == 0)
        return false;
    mgds_text_add(text, "the process of rank %d has ended", rank);
    return true;
}

static void say_send(struct mgds_text *text, const struct mgds_op *op)
{
    if (op->state == MGDS_OP_SENDING || op->state == MGDS_OP_FLOWING ||
        (op->state == MGDS_OP_ASKED && op->send->protocol->carried))
        mgds_text_add(text, "its bytes are under way to rank %d",
                      op->call->rank);
    else
        mgds_text_add(text,
                      "rank %d has not posted the receive, or its "
                      "stream has not come to that",
                      op->call->rank);
}

/* Of one that was matched. */
static void say_message(struct mgds_text *text, const struct mgds_op *op)
{
    int rank = (int)op->recv->message->rank;

    if (!op->recv->message->match.reached)
        mgds_text_add(text, "the stream of rank %d has not come to the send",
                      rank);
    else if (op->recv->fetch || mgds_op_is_taken(op))
        mgds_text_add(text, "its bytes are being copied from rank %d", rank);
    else if (mgds_op_is_moved(op))
        mgds_text_add(text, "its bytes have come from rank %d", rank);
    else
        mgds_text_add(text, "its bytes are under way from rank %d", rank);
}

static void say_no_message(struct mgds_text *text, int rank)
{
    mgds_text_add(text, "no message from ");
    add_rank(text, rank);
    mgds_text_add(text, " has come");
}

static void add_reason(struct mgds_text *text, const struct mgds_op *op,
                       const struct mgds_waiter *waiter)
{
    int rank = mgds_op_peer(op);

    mgds_text_add(text, ": ");
    if (say_kept(text, op) || say_not_reached(text, op, waiter) ||
        say_lost(text, op, rank))
        return;
    if (op->send)
        say_send(text, op);
    else if (op->recv->message)
        say_message(text, op);
    else
        say_no_message(text, op->call->rank);
}

static void add_op(struct mgds_text *text, const struct mgds_op *op)
{
    mgds_text_add(text, "a %s ", op->send ? "send to" : "receive from");
    add_rank(text, op->call->rank);
    add_tag(text, op->call->tag);
    mgds_text_add(text, ", %zu bytes", op->call->bytes);
    add_comm(text, op->comm);
}

void mgds_report_op(char line[MGDS_REPORT_BYTES],
                    const struct mgds_waiter *waiter, const struct mgds_op *op)
{
    struct mgds_text text;

    mgds_text_init(&text, line, MGDS_REPORT_BYTES);
    add_waiter(&text, waiter);
    add_op(&text, op);
    add_reason(&text, op, waiter);
}

/* What is wrong, where an operation's error says no more than that. */
static const struct {
    int error;
    const char *text;
} wrongs[] = {
    {ENOTCONN, "the process of that rank has ended, or cannot be reached"},
    {ETIMEDOUT, "it took longer than MPIX_GDS_TIMEOUT says"},
    {ENOMEM, "there was no memory for its bytes: allow more with "
             "MPIX_GDS_STAGE_POOL"},
    {EFAULT, "its buffer was freed"},
    {ECANCELED, "its stream cannot be used any more"},
    {ESHUTDOWN, "its CUDA context was destroyed or reset"},
    {EXDEV, "its buffer is in the memory of a GPU that its stream does not "
            "reach"},
};

static void add_wrong(struct mgds_text *text, int error)
{
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++)
        if (wrongs[i].error == -error) {
            mgds_text_add(text, "%s", wrongs[i].text);
            return;
        }
    errno = -error;
    mgds_text_add(text, "%m");
}

static void describe_failure(char line[MGDS_REPORT_BYTES],
                             const struct mgds_op *op, int error)
{
    const struct mgds_message *message = mgds_op_message(op);
    struct mgds_text text;

    mgds_text_init(&text, line, MGDS_REPORT_BYTES);
    add_op(&text, op);
    if (op->waited->at)
        mgds_text_add(&text, ", stream 0x%" PRIx64, op->waited->at);
    mgds_text_add(&text, ": ");
    if (error == -EMSGSIZE && message)
        mgds_text_add(&text,
                      "truncated: its message from rank %u has %zu bytes",
                      message->rank, message->bytes);
    else if (error == -EBADMSG && message)
        mgds_text_add(
            &text,
            "its message from rank %u has %zu bytes, which end inside "
            "an element of %zu",
            message->rank, message->bytes, op->call->user.layout->unit);
    else if (op->fail->why && message && op->call->rank < 0)
        mgds_text_add(&text, "its message is from rank %u: %s", message->rank,
                      op->fail->why);
    else if (op->fail->why)
        mgds_text_add(&text, "%s", op->fail->why);
    else
        add_wrong(&text, error);
}

void mgds_report_debt(struct mgds_debt *debt, int error,
                      const struct mgds_op *op)
{
    char *text;

    if (mgds_debt_is_due(debt))
        return;
    text = (char *)mgds_malloc(MGDS_REPORT_BYTES);
    if (text)
        describe_failure(text, op, error);
    mgds_debt_add(debt, error, op->call->name, text);
}

static_assert(sizeof(((struct mgds_failure *)0)->text) == MGDS_REPORT_BYTES,
              "a line");

void mgds_report_failure(struct mgds_failure *out, const struct mgds_op *op)
{
    out->error = op->status.error;
    out->name = op->call->name;
    out->text[0] = '\0';
    if (op->fail->why)
        describe_failure(out->text, op, out->error);
}

void mgds_report_probe(char line[MGDS_REPORT_BYTES],
                       const struct mgds_waiter *waiter,
                       const struct mgds_comm *comm,
                       const struct mgds_probe *probe)
{
    struct mgds_text text;

    mgds_text_init(&text, line, MGDS_REPORT_BYTES);
    add_waiter(&text, waiter);
    mgds_text_add(&text, "a probe of ");
    add_rank(&text, probe->peer);
    add_tag(&text, probe->tag);
    add_comm(&text, comm);
    mgds_text_add(&text, ": ");
    say_no_message(&text, probe->peer);
}

void mgds_report_stream(char line[MGDS_REPORT_BYTES],
                        const struct mgds_waiter *waiter, unsigned ahead)
{
    struct mgds_text text;

    mgds_text_init(&text, line, MGDS_REPORT_BYTES);
    if (waiter->call)
        mgds_text_add(&text, "%s stands for %.1f s at ", waiter->call,
                      1e-9 * (double)(mgds_clock_ns() - waiter->since));
    mgds_text_add(&text,
                  "stream 0x%" PRIx64 "%s has not come to %u steps of ours, "
                  "and stands at no wait: other work is ahead of them",
                  mgds_gstream_name(waiter->timeline->stream),
                  waiter->call ? ", which" : "", ahead);
}

/* Under the engine's lock. */
static unsigned named;

void mgds_report_lost(struct mgds_op *op)
{
    const int peer = mgds_op_peer(op);

    if (op->fail->named || named++ >= NAMED)
        return;
    op->fail->named = true;
    if (peer < 0)
        mgds_warn("a receive from any source, tag %d, %zu bytes fails: %s",
                  op->call->tag, op->call->bytes, op->fail->why);
    else
        mgds_warn("a %s rank %d, tag %d, %zu bytes fails: %s",
                  op->send ? "send to" : "receive from", peer, op->call->tag,
                  op->call->bytes, op->fail->why);
}
