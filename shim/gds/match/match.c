/* The matching lists; see match.h for the rule. */
#include "shim/gds/match/match.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"

struct sends {
    struct mgds_match_send *first, *last;
};

struct recvs {
    struct mgds_match_recv *first, *last;
};

/* What one source has sent, and what was posted for it alone. `waiting` and
 * `ahead` are in order of number, all of waiting before all of ahead. */
struct source {
    uint64_t expected; /* the number that comes next */
    struct sends waiting, ahead;
    struct recvs posted;
    struct source *prev, *next; /* among those with waiting sends */
};

/* Waiting sends by source and tag, in the order in which they may be matched;
 * others whose mix is the same are among them. */
enum { KINDS = 256 };

struct mgds_match {
    mgds_match_paired *paired;
    void *owner;
    struct recvs posted_any; /* from any source */
    struct source *active;   /* with waiting sends, in no order */
    uint64_t stamp, steps;
    size_t waiting, posted;
    struct sends alike[KINDS];
    unsigned sources;
    struct source source[];
};

int mgds_match_create(struct mgds_match **out, unsigned sources,
                      mgds_match_paired *paired, void *owner)
{
    struct mgds_match *match = (struct mgds_match *)mgds_calloc(
        1, sizeof(*match) + sources * sizeof(match->source[0]));

    if (!match)
        return -ENOMEM;
    match->paired = paired;
    match->owner = owner;
    match->sources = sources;
    match->stamp = MGDS_COUNT_FROM;
    for (unsigned i = 0; i < sources; i++)
        match->source[i].expected = MGDS_COUNT_FROM;
    *out = match;
    return 0;
}

void mgds_match_destroy(struct mgds_match *match)
{
    free(match);
}

/* Lists. */

static void insert_send(struct sends *list, struct mgds_match_send *send,
                        struct mgds_match_send *before)
{
    send->next = before;
    send->prev = before ? before->prev : list->last;
    *(send->prev ? &send->prev->next : &list->first) = send;
    *(before ? &before->prev : &list->last) = send;
}

static void remove_send(struct sends *list, struct mgds_match_send *send)
{
    *(send->prev ? &send->prev->next : &list->first) = send->next;
    *(send->next ? &send->next->prev : &list->last) = send->prev;
}

static struct sends *alike_of(struct mgds_match *match, int source, int tag)
{
    uint32_t mixed = (uint32_t)source * 0x85ebca6bu + (uint32_t)tag;

    return &match->alike[mixed * 0x9e3779b1u >> 24];
}

static void append_alike(struct mgds_match *match, struct mgds_match_send *send)
{
    struct sends *list = alike_of(match, send->source, send->tag);

    send->next_alike = NULL;
    send->prev_alike = list->last;
    *(list->last ? &list->last->next_alike : &list->first) = send;
    list->last = send;
}

static void remove_alike(struct mgds_match *match, struct mgds_match_send *send)
{
    struct sends *list = alike_of(match, send->source, send->tag);
    struct mgds_match_send *prev = send->prev_alike, *next = send->next_alike;

    *(prev ? &prev->next_alike : &list->first) = next;
    *(next ? &next->prev_alike : &list->last) = prev;
}

static void append_recv(struct recvs *list, struct mgds_match_recv *recv)
{
    recv->next = NULL;
    recv->prev = list->last;
    *(recv->prev ? &recv->prev->next : &list->first) = recv;
    list->last = recv;
}

static void remove_recv(struct recvs *list, struct mgds_match_recv *recv)
{
    *(recv->prev ? &recv->prev->next : &list->first) = recv->next;
    *(recv->next ? &recv->next->prev : &list->last) = recv->prev;
}

static struct recvs *list_of(struct mgds_match *match,
                             const struct mgds_match_recv *recv)
{
    return recv->source == MGDS_ANY_SOURCE
               ? &match->posted_any
               : &match->source[recv->source].posted;
}

static void activate(struct mgds_match *match, struct source *source)
{
    if (source->waiting.first)
        return;
    source->prev = NULL;
    source->next = match->active;
    if (match->active)
        match->active->prev = source;
    match->active = source;
}

static void deactivate(struct mgds_match *match, struct source *source)
{
    if (source->waiting.first)
        return;
    *(source->prev ? &source->prev->next : &match->active) = source->next;
    if (source->next)
        source->next->prev = source->prev;
}

static void drop_send(struct mgds_match *match, struct mgds_match_send *send)
{
    struct source *source = &match->source[send->source];

    remove_send(&source->waiting, send);
    remove_alike(match, send);
    deactivate(match, source);
    match->waiting--;
}

static void drop_recv(struct mgds_match *match, struct mgds_match_recv *recv)
{
    remove_recv(list_of(match, recv), recv);
    recv->posted = false;
    match->posted--;
}

/* The rule. */

static bool takes(int wanted, int tag)
{
    return wanted == tag || wanted == MGDS_ANY_TAG;
}

/* The earliest receive of the list that accepts the tag. */
static struct mgds_match_recv *first_in(struct mgds_match *match,
                                        const struct recvs *list, int tag)
{
    struct mgds_match_recv *recv = list->first;

    for (; recv; recv = recv->next) {
        match->steps++;
        if (takes(recv->tag, tag))
            return recv;
    }
    return NULL;
}

/* The earliest posted receive that accepts the send. */
static struct mgds_match_recv *recv_for(struct mgds_match *match,
                                        const struct mgds_match_send *send)
{
    struct recvs *own = &match->source[send->source].posted;
    struct mgds_match_recv *a = first_in(match, own, send->tag);
    struct mgds_match_recv *b = first_in(match, &match->posted_any, send->tag);

    if (!a || !b)
        return a ? a : b;
    return a->stamp < b->stamp ? a : b;
}

/* The earliest waiting send of the source that has the tag. */
static struct mgds_match_send *send_for(struct mgds_match *match, int source,
                                        int tag)
{
    struct mgds_match_send *send;

    match->steps++;
    if (tag == MGDS_ANY_TAG)
        return match->source[source].waiting.first;
    send = alike_of(match, source, tag)->first;
    while (send && (send->tag != tag || send->source != source)) {
        match->steps++;
        send = send->next_alike;
    }
    return send;
}

static void pair(struct mgds_match *match, struct mgds_match_recv *recv,
                 struct mgds_match_send *send)
{
    drop_recv(match, recv);
    drop_send(match, send);
    match->paired(match->owner, recv, send);
}

/* The receive that the send is to be matched with now, or NULL. */
static struct mgds_match_recv *partner(struct mgds_match *match,
                                       const struct mgds_match_send *send)
{
    struct mgds_match_recv *recv = recv_for(match, send);

    if (!recv || (recv->source == MGDS_ANY_SOURCE && !send->reached))
        return NULL;
    if (send_for(match, send->source, recv->tag) != send)
        return NULL;
    return recv;
}

/* One pair among all waiting sends. */
static bool settle_one(struct mgds_match *match)
{
    for (struct source *source = match->active; source; source = source->next)
        for (struct mgds_match_send *send = source->waiting.first; send;
             send = send->next) {
            struct mgds_match_recv *recv = partner(match, send);

            if (recv) {
                pair(match, recv, send);
                return true;
            }
        }
    return false;
}

/*
 * Sends and receives are held back only by a receive from any source whose
 * sends were not reached: when one of those goes, or a send that it wanted
 * goes to it, anything may move.
 */
static void settle(struct mgds_match *match)
{
    while (match->posted > 0 && settle_one(match))
        ;
}

/* What moves when this send may be matched: itself, and what it held back. */
static void try_send(struct mgds_match *match, struct mgds_match_send *send)
{
    struct mgds_match_recv *recv = partner(match, send);
    bool from_any = recv && recv->source == MGDS_ANY_SOURCE;

    if (recv)
        pair(match, recv, send);
    if (from_any)
        settle(match);
}

/* Arrivals. */

static void enter(struct mgds_match *match, struct source *source,
                  struct mgds_match_send *send)
{
    activate(match, source);
    insert_send(&source->waiting, send, NULL);
    append_alike(match, send);
    send->stamp = match->stamp++;
    source->expected++;
    try_send(match, send);
}

/* In order of number; false if the number is there already. */
static bool put_ahead(struct source *source, struct mgds_match_send *send)
{
    struct mgds_match_send *last = source->ahead.last, *before = NULL;

    while (last && last->number > send->number) {
        before = last;
        last = last->prev;
    }
    if (last && last->number == send->number)
        return false;
    insert_send(&source->ahead, send, before);
    return true;
}

int mgds_match_arrive(struct mgds_match *match, struct mgds_match_send *send)
{
    struct source *source;

    if (send->source < 0 || (unsigned)send->source >= match->sources)
        return -EPROTO;
    source = &match->source[send->source];
    if (send->number < source->expected || !put_ahead(source, send))
        return -EPROTO;
    match->waiting++;
    while ((send = source->ahead.first) != NULL &&
           send->number == source->expected) {
        remove_send(&source->ahead, send);
        enter(match, source, send);
    }
    return 0;
}

/* Receives. */

/* What a receive called now with these would be matched with: not what an
 * earlier one holds. */
static struct mgds_match_send *free_send(struct mgds_match *match, int source,
                                         int tag)
{
    struct mgds_match_send *send = send_for(match, source, tag);

    return send && !recv_for(match, send) ? send : NULL;
}

/* Of the reached ones that have come first. */
static struct mgds_match_send *free_from_any(struct mgds_match *match, int tag)
{
    struct mgds_match_send *best = NULL;

    for (struct source *source = match->active; source; source = source->next) {
        int index = (int)(source - match->source);
        struct mgds_match_send *send = free_send(match, index, tag);

        if (send && send->reached && (!best || send->stamp < best->stamp))
            best = send;
    }
    return best;
}

/* Nothing else can move: the receive is the last, so no send prefers it to
 * another, and what it took had no other receive. */
void mgds_match_post(struct mgds_match *match, struct mgds_match_recv *recv)
{
    struct mgds_match_send *send;

    if (recv->source == MGDS_ANY_SOURCE)
        send = free_from_any(match, recv->tag);
    else
        send = free_send(match, recv->source, recv->tag);
    append_recv(list_of(match, recv), recv);
    recv->stamp = match->stamp++;
    recv->posted = true;
    match->posted++;
    if (send)
        pair(match, recv, send);
}

static struct mgds_match_send *find(struct mgds_match *match,
                                    const struct sends *list, uint64_t number)
{
    struct mgds_match_send *send = list->first;

    match->steps++;
    while (send && send->number != number) {
        match->steps++;
        send = send->next;
    }
    return send;
}

bool mgds_match_reached(struct mgds_match *match, int source, uint64_t number)
{
    struct source *from = &match->source[source];
    struct mgds_match_send *send = find(match, &from->waiting, number);

    if (send) {
        send->reached = true;
        try_send(match, send);
        return true;
    }
    send = find(match, &from->ahead, number);
    if (send)
        send->reached = true;
    return send || number < from->expected;
}

enum mgds_match_where mgds_match_look(struct mgds_match *match, int source,
                                      uint64_t number,
                                      struct mgds_match_send **out)
{
    const struct source *from = &match->source[source];

    *out = find(match, &from->waiting, number);
    if (*out)
        return MGDS_MATCH_WAITING;
    return number < from->expected ? MGDS_MATCH_GONE : MGDS_MATCH_COMING;
}

bool mgds_match_cancel(struct mgds_match *match, struct mgds_match_recv *recv)
{
    if (!recv->posted)
        return false;
    drop_recv(match, recv);
    settle(match);
    return true;
}

void mgds_match_withdraw(struct mgds_match *match, struct mgds_match_send *send)
{
    drop_send(match, send);
    settle(match);
}

struct mgds_match_send *mgds_match_probe(struct mgds_match *match, int source,
                                         int tag)
{
    struct mgds_match_send *send;

    if (source == MGDS_ANY_SOURCE)
        return free_from_any(match, tag);
    send = free_send(match, source, tag);
    return send && send->reached ? send : NULL;
}

void mgds_match_take(struct mgds_match *match, struct mgds_match_send *send)
{
    drop_send(match, send);
}

static void clear_sends(struct mgds_match *match, struct source *source,
                        void (*call)(void *owner, struct mgds_match_send *send))
{
    struct mgds_match_send *send;

    while ((send = source->waiting.first) != NULL) {
        drop_send(match, send);
        if (call)
            call(match->owner, send);
    }
    while ((send = source->ahead.first) != NULL) {
        remove_send(&source->ahead, send);
        match->waiting--;
        if (call)
            call(match->owner, send);
    }
}

static void clear_recvs(struct mgds_match *match, struct recvs *list,
                        void (*call)(void *owner, struct mgds_match_recv *recv))
{
    struct mgds_match_recv *recv;

    while ((recv = list->first) != NULL) {
        drop_recv(match, recv);
        if (call)
            call(match->owner, recv);
    }
}

void mgds_match_clear(struct mgds_match *match,
                      void (*send)(void *owner, struct mgds_match_send *send),
                      void (*recv)(void *owner, struct mgds_match_recv *recv))
{
    for (unsigned i = 0; i < match->sources; i++)
        clear_sends(match, &match->source[i], send);
    for (unsigned i = 0; i < match->sources; i++)
        clear_recvs(match, &match->source[i].posted, recv);
    clear_recvs(match, &match->posted_any, recv);
}

size_t mgds_match_waiting(const struct mgds_match *match)
{
    return match->waiting;
}

size_t mgds_match_posted(const struct mgds_match *match)
{
    return match->posted;
}

uint64_t mgds_match_steps(const struct mgds_match *match)
{
    return match->steps;
}
