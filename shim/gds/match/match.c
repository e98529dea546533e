/* The matcher's door; see match.h. */
#include "shim/gds/match/match.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/fault.h"
#include "shim/gds/match/match_state.h"
#include "shim/gds/match/posted.h"
#include "shim/gds/match/rule.h"
#include "shim/gds/match/unexpected.h"

static int make_tables(struct mgds_match *match)
{
    if (mgds_fifos_init(&match->posted) < 0 ||
        mgds_fifos_init(&match->unexpected) < 0 ||
        mgds_fifos_init(&match->arrived) < 0)
        return -ENOMEM;
    return 0;
}

int mgds_match_create(struct mgds_match **out, unsigned sources,
                      mgds_match_paired *paired, void *owner)
{
    struct mgds_match *match = (struct mgds_match *)mgds_calloc(
        1, sizeof(*match) + sources * sizeof(match->expected[0]));

    if (!match)
        return -ENOMEM;
    if (make_tables(match) < 0) {
        mgds_match_destroy(match);
        return -ENOMEM;
    }
    match->paired = paired;
    match->owner = owner;
    match->sources = sources;
    match->stamp = MGDS_COUNT_FROM;
    TAILQ_INIT(&match->due_recvs);
    TAILQ_INIT(&match->due_sends);
    for (unsigned i = 0; i < sources; i++)
        match->expected[i] = MGDS_COUNT_FROM;
    *out = match;
    return 0;
}

void mgds_match_destroy(struct mgds_match *match)
{
    if (!match)
        return;
    mgds_fifos_fini(&match->posted);
    mgds_fifos_fini(&match->unexpected);
    mgds_fifos_fini(&match->arrived);
    free(match);
}

static bool is_sound(const struct mgds_match *match,
                     const struct mgds_match_send *send)
{
    return send->source >= 0 && (unsigned)send->source < match->sources &&
           send->tag >= 0 && send->number >= match->expected[send->source];
}

/* It waits, and so do those that were ahead of it. */
static void let_wait(struct mgds_match *match, struct mgds_match_send *send)
{
    const int source = send->source;
    uint64_t *expected = &match->expected[source];

    mgds_rule_wait(match, send);
    ++*expected;
    while (match->ahead > 0 &&
           (send = mgds_unexpected_find(match, source, *expected)) != NULL) {
        mgds_rule_wait(match, send);
        ++*expected;
        match->ahead--;
    }
    mgds_rule_settle(match);
}

int mgds_match_arrive(struct mgds_match *match, struct mgds_match_send *send)
{
    if (!is_sound(match, send))
        return -EPROTO;
    if (send->number == match->expected[send->source]) {
        mgds_unexpected_arrive(match, send);
        let_wait(match, send);
        return 0;
    }
    if (mgds_unexpected_find(match, send->source, send->number))
        return -EPROTO;
    mgds_unexpected_arrive(match, send);
    match->ahead++;
    return 0;
}

void mgds_match_post(struct mgds_match *match, struct mgds_match_recv *recv)
{
    mgds_posted_add(match, recv);
    mgds_rule_settle(match);
}

bool mgds_match_reached(struct mgds_match *match, int source, uint64_t number)
{
    struct mgds_match_send *send = mgds_unexpected_find(match, source, number);

    if (!send)
        return number < match->expected[source];
    send->reached = true;
    mgds_unexpected_set_due(match, send);
    mgds_rule_settle(match);
    return true;
}

enum mgds_match_where mgds_match_look(struct mgds_match *match, int source,
                                      uint64_t number,
                                      struct mgds_match_send **out)
{
    *out = NULL;
    if (number >= match->expected[source])
        return MGDS_MATCH_COMING;
    *out = mgds_unexpected_find(match, source, number);
    return *out ? MGDS_MATCH_WAITING : MGDS_MATCH_GONE;
}

bool mgds_match_cancel(struct mgds_match *match, struct mgds_match_recv *recv)
{
    if (!recv->posted)
        return false;
    mgds_posted_remove(match, recv);
    mgds_rule_settle(match);
    return true;
}

void mgds_match_withdraw(struct mgds_match *match, struct mgds_match_send *send)
{
    mgds_unexpected_remove(match, send);
    mgds_rule_settle(match);
}

struct mgds_match_send *mgds_match_probe(struct mgds_match *match, int source,
                                         int tag)
{
    return mgds_rule_probe(match, source, tag);
}

/* No receive wants what a probe has found, nor what is behind that. */
void mgds_match_take(struct mgds_match *match, struct mgds_match_send *send)
{
    mgds_match_withdraw(match, send);
}

static void clear_sends(struct mgds_match *match,
                        void (*call)(void *owner, struct mgds_match_send *send))
{
    struct mgds_fifo_node *node;
    uint64_t at = 0;

    while ((node = mgds_fifos_some(&match->arrived, &at)) != NULL) {
        struct mgds_match_send *send =
            MGDS_CONTAINER_OF(node, struct mgds_match_send, arrived);

        mgds_unexpected_remove(match, send);
        if (call)
            call(match->owner, send);
    }
}

static void clear_recvs(struct mgds_match *match,
                        void (*call)(void *owner, struct mgds_match_recv *recv))
{
    struct mgds_fifo_node *node;
    uint64_t at = 0;

    while ((node = mgds_fifos_some(&match->posted, &at)) != NULL) {
        struct mgds_match_recv *recv =
            MGDS_CONTAINER_OF(node, struct mgds_match_recv, queue);

        mgds_posted_remove(match, recv);
        if (call)
            call(match->owner, recv);
    }
}

/* Nothing is settled: what is due leaves with all others. */
void mgds_match_clear(struct mgds_match *match,
                      void (*send)(void *owner, struct mgds_match_send *send),
                      void (*recv)(void *owner, struct mgds_match_recv *recv))
{
    clear_sends(match, send);
    clear_recvs(match, recv);
}

size_t mgds_match_waiting(const struct mgds_match *match)
{
    return match->sends;
}

size_t mgds_match_posted(const struct mgds_match *match)
{
    size_t all = 0;

    for (unsigned i = 0; i <= MGDS_AHEAD_KINDS; i++)
        all += match->all[i];
    return all;
}

size_t mgds_match_wild(const struct mgds_match *match)
{
    return match->all[MGDS_AHEAD_ANY] + match->all[MGDS_AHEAD_TAG];
}

uint64_t mgds_match_looks(const struct mgds_match *match)
{
    return match->looks + match->posted.looks + match->unexpected.looks +
           match->arrived.looks;
}
