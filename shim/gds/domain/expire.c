/* Waits on streams that take too long; see expire.h. */
#include "shim/gds/domain/expire.h"

#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/lines.h"

#define SECOND_NS 1000000000u

static const char nothing_came[] =
    "its stream has stood there for as long as MPIX_GDS_TIMEOUT says, and "
    "nothing came";
static const char stands_elsewhere[] =
    "its sender's stream has stood there for as long as MPIX_GDS_TIMEOUT says, "
    "and the receive's own stream had not come to it";
static const char nobody_receives[] =
    "nobody receives it: its receive has failed, or none was called before "
    "MPIX_GDS_TIMEOUT was over";

/* Since when there were looks, without a second in which this process, or the
 * thread that looks, did not run: what has come meanwhile is not known before
 * the wire has had its turn. */
static uint64_t awake;

static void stay_awake(uint64_t now)
{
    static uint64_t last;

    if (now - last > SECOND_NS)
        awake = now;
    last = now;
}

static bool is_over(uint64_t since, uint64_t now)
{
    uint64_t begin = since > awake ? since : awake;

    return now > begin && now - begin >= mgds_ctx()->config.timeout * SECOND_NS;
}

static int revoke(struct mgds_op *op)
{
    const struct mgds_domain *domain = op->domain;
    const struct mgds_revoke head = {
        {domain->id, op->number, domain->rank, op->from_index, op->index, 0},
        op->cookie,
        (uint32_t)op->rank,
        0};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_REVOKE,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    mgds_count(sends_revoked);
    return mgds_exchange_post(domain->peer[op->rank], &message);
}

/* The wire tells when it is, and ends what it has of it. */
static void lose(const struct mgds_op *op)
{
    if (mgds_wire_peer_give_up(op->domain->peer[op->rank]))
        mgds_warn("rank %d has not answered for %u s (MPIX_GDS_TIMEOUT): it "
                  "is taken for dead",
                  op->rank, (unsigned)mgds_ctx()->config.timeout);
}

static void expire_send(struct mgds_op *op, uint64_t now)
{
    if (op->spared && !is_over(op->spared, now))
        return;
    if (op->revoked && is_over(op->revoked, now))
        lose(op);
    else if (!op->revoked && revoke(op) == 0)
        op->revoked = now;
}

/* What the wire, or a kernel of ours, is at ends by itself; so does what its
 * own stream has only to come to. */
static void expire_recv(struct mgds_op *op)
{
    if (op->landing || op->fetching || op->quit)
        return;
    if (!op->taken) {
        mgds_count(receives_expired);
        mgds_lost_op(op, -ETIMEDOUT, nothing_came);
    } else if (!op->message->match.reached) {
        mgds_count(receives_expired);
        op->why = nothing_came;
        mgds_quit_begin(op, -ETIMEDOUT);
    }
}

/* A TAKE that is on the stream already has to be kept from it. */
static void withdraw(struct mgds_op *op)
{
    const struct mgds_message *message = op->message;

    if (op->lost || op->reached || op->pulled || op->fetching || op->quit)
        return;
    if (!op->taken && !op->moved) {
        mgds_count(receives_expired);
        mgds_lost_op(op, -ETIMEDOUT, stands_elsewhere);
    } else if (op->taken && message->pull && message->match.reached &&
               !op->credited) {
        mgds_fetch_withdraw(op);
    }
}

void mgds_expire_withdrawn(struct mgds_op *op)
{
    mgds_count(receives_expired);
    op->why = stands_elsewhere;
    mgds_exchange_withdrawn(op, -ETIMEDOUT);
}

void mgds_expire_matched(const struct mgds_domain *domain, int source,
                         const struct mgds_tell *tell)
{
    struct mgds_op *op = domain->ops;

    while (op &&
           !(op->message && mgds_message_is(op->message, source, tell->to_index,
                                            tell->number)))
        op = op->next;
    if (op)
        withdraw(op);
}

/* What the program has put ahead of the operation, on a stream of its own, is
 * not what takes too long. */
static bool has_expired(const struct mgds_op *op, const struct mgds_line *line,
                        uint64_t now)
{
    if (op->lost || (op->moved && !op->taken))
        return false;
    return !op->line || op->line == line ||
           (op->reached && is_over(op->came, now));
}

/* From the last one on: so no receive that is to fail gets the message of
 * another. */
static void expire(struct mgds_wait *wait, uint64_t now)
{
    bool misses = mgds_wait_misses(wait);

    for (unsigned i = wait->count; i-- > 0;) {
        struct mgds_op *op = wait->op[i];

        if (!mgds_wait_stands_at(wait, i, misses) ||
            !has_expired(op, wait->line, now))
            continue;
        if (op->send)
            expire_send(op, now);
        else
            expire_recv(op);
    }
}

/* Waits, and operations, are freed when the lock is. */
void mgds_expire_look(void)
{
    uint64_t now = mgds_clock_ns();

    if (mgds_ctx()->config.timeout == 0)
        return;
    stay_awake(now);
    for (const struct mgds_line *line = mgds_lines_first(); line;
         line = line->next) {
        struct mgds_wait *wait = NULL;
        uint64_t since = mgds_line_stands(line, &wait);

        if (since && is_over(since, now))
            expire(wait, now);
    }
}

void mgds_expire_ended(struct mgds_op *op, int error)
{
    if (op->lost || op->posted) /* known already, or all the wire's */
        return;
    op->revoked = 0;
    op->spared = mgds_clock_ns();
    op->ended = error < 0;
    if (op->ended)
        mgds_lost_op(op, error, nobody_receives);
}
