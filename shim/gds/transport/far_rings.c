/* Rings of others: asked for, mapped, kept, closed; see far_rings.h. */
#include "shim/gds/transport/far_rings.h"

#include <errno.h>
#include <stdlib.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/base/random.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/transport/own_rings.h"

/* What was not used for so long is not worth its memory, ns. */
enum { UNUSED_NS = 1000000000 };

static uint64_t tokens;
static unsigned epoch; /* of the wire: who was told before knows nothing */

/* Serials of different rings do not meet, though memory and done words are used
 * again: they begin anywhere below 2^62; but for tests, whose low halves begin
 * near where they overflow. */
static uint64_t first_serial(void)
{
    static uint64_t made;
    uint64_t word = MGDS_COUNT_FROM;

    if (word)
        return word + 1 + (made++ << 32);
    if (mgds_random(&word, sizeof(word)) < 0)
        word = mgds_clock_ns() << 20;
    return (word >> 2) | 1;
}

static struct mgds_far_ring *make_ring(struct mgds_ring_pair *pair,
                                       uint64_t token)
{
    struct mgds_far_ring *ring =
        (struct mgds_far_ring *)mgds_calloc(1, sizeof(*ring));

    if (!ring)
        return NULL;
    ring->pair = pair;
    ring->token = token;
    ring->epoch = epoch;
    mgds_ring_pair_get(pair);
    return ring;
}

static void drop_ring(struct mgds_far_ring *ring)
{
    mgds_places_fini(&ring->places);
    mgds_ring_pair_put(ring->pair);
    free(ring);
}

/* Its owner may free it, or does not hear that any more. */
static void disown_ring(const struct mgds_far_ring *ring)
{
    if (ring->epoch != epoch)
        return;
    if (ring->pair->self)
        mgds_own_rings_close(ring->number);
    else
        mgds_ring_pair_say(ring->pair, MGDS_ENVELOPE_RING_CLOSED, ring->number,
                           0);
}

/* At a safe point. */
static void tell_closed(void *arg)
{
    struct mgds_far_ring *ring = (struct mgds_far_ring *)arg;

    mgds_engine_enter();
    disown_ring(ring);
    drop_ring(ring);
    mgds_engine_leave();
}

static void close_ring(struct mgds_far_ring *ring)
{
    TAILQ_REMOVE(&ring->pair->idle, ring, link);
    ring->state = MGDS_FAR_CLOSING;
    mgds_ring_view_destroy(ring->view, tell_closed, ring);
}

static void rest_ring(struct mgds_far_ring *ring)
{
    ring->state = MGDS_FAR_IDLE;
    TAILQ_INSERT_HEAD(&ring->pair->idle, ring, link);
}

void mgds_far_use(struct mgds_far_ring *ring, struct mgds_far_ring **holder)
{
    ring->holder = holder;
    *holder = ring;
}

void mgds_far_leave(struct mgds_far_ring *ring)
{
    *ring->holder = NULL;
    ring->holder = NULL;
    if (mgds_places_out(&ring->places) > 0) {
        ring->state = MGDS_FAR_DRAINING;
        return;
    }
    TAILQ_REMOVE(&ring->pair->used, ring, link);
    rest_ring(ring);
}

int mgds_far_fix(struct mgds_far_ring **out, char *base, uint32_t units)
{
    struct mgds_far_ring *ring =
        (struct mgds_far_ring *)mgds_calloc(1, sizeof(*ring));

    if (!ring)
        return -ENOMEM;
    if (mgds_places_init(&ring->places, units, first_serial()) < 0) {
        free(ring);
        return -ENOMEM;
    }
    ring->state = MGDS_FAR_USED;
    ring->base = base;
    ring->units = units;
    *out = ring;
    return 0;
}

void mgds_far_unfix(struct mgds_far_ring *ring)
{
    mgds_places_fini(&ring->places);
    free(ring);
}

int mgds_far_give(struct mgds_far_ring *ring, uint64_t serial)
{
    int rc = mgds_places_give(&ring->places, serial);

    if (ring->state == MGDS_FAR_DRAINING &&
        mgds_places_out(&ring->places) == 0) {
        TAILQ_REMOVE(&ring->pair->used, ring, link);
        rest_ring(ring);
    }
    return rc;
}

/* Asking. */

static struct mgds_far_ring *find_idle(const struct mgds_ring_pair *pair,
                                       uint32_t units)
{
    struct mgds_far_ring *ring;

    TAILQ_FOREACH(ring, &pair->idle, link)
    {
        if (ring->units >= units)
            break;
    }
    return ring;
}

/* Until its owner takes it, it is used. */
static void answer_ask(struct mgds_ring_ask *ask, struct mgds_far_ring *ring,
                       int error)
{
    ask->state = error ? MGDS_ASK_REFUSED : MGDS_ASK_GOT;
    ask->error = error;
    ask->ring = ring;
    ask->since = mgds_clock_ns();
    if (!ring)
        return;
    ring->state = MGDS_FAR_USED;
    mgds_far_use(ring, &ask->ring);
    TAILQ_INSERT_TAIL(&ring->pair->used, ring, link);
}

static void answer_listed(struct mgds_ring_ask *ask, struct mgds_far_ring *ring,
                          int error, struct mgds_ring_pair *pair)
{
    TAILQ_REMOVE(&pair->asks, ask, link);
    answer_ask(ask, ring, error);
}

static void ask_self(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask,
                     uint32_t units)
{
    struct mgds_far_ring *ring = make_ring(pair, ask->token);

    if (!ring) {
        answer_listed(ask, NULL, -ENOMEM, pair);
        return;
    }
    ring->units = units;
    mgds_work_add(&ring->work, MGDS_WORK_MAP_RING);
}

/* Nobody answers an ask that could not be posted. */
static void ask_other(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask,
                      uint32_t units)
{
    const struct mgds_ring_asked asked = {
        .ends = mgds_ring_pair_ends(pair), .token = ask->token, .units = units};
    int rc = mgds_ring_pair_tell(pair, MGDS_ENVELOPE_RING_ASKED, &asked,
                                 sizeof(asked));

    if (rc < 0)
        answer_listed(ask, NULL, rc, pair);
}

bool mgds_far_reuse(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask,
                    uint32_t units)
{
    struct mgds_far_ring *idle = find_idle(pair, units);

    if (!idle)
        return false;
    TAILQ_REMOVE(&pair->idle, idle, link);
    answer_ask(ask, idle, 0);
    return true;
}

void mgds_far_ask(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask,
                  uint32_t units)
{
    if (mgds_far_reuse(pair, ask, units))
        return;
    ask->state = MGDS_ASK_ASKED;
    ask->since = mgds_clock_ns();
    ask->token = ++tokens;
    TAILQ_INSERT_TAIL(&pair->asks, ask, link);
    if (pair->self)
        ask_self(pair, ask, units);
    else
        ask_other(pair, ask, units);
}

void mgds_far_forget(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask)
{
    if (ask->state == MGDS_ASK_ASKED)
        TAILQ_REMOVE(&pair->asks, ask, link);
    if (ask->state == MGDS_ASK_GOT && ask->ring) /* or it has gone again */
        mgds_far_leave(ask->ring);
    ask->state = MGDS_ASK_NONE;
}

static struct mgds_ring_ask *find_ask(const struct mgds_ring_pair *pair,
                                      uint64_t token)
{
    struct mgds_ring_ask *ask;

    TAILQ_FOREACH(ask, &pair->asks, link)
    {
        if (ask->token == token)
            break;
    }
    return ask;
}

/* Mapping. */

static int open_view(struct mgds_far_ring *ring)
{
    int rc = mgds_ring_view_create(&ring->view, ring->pair->here, &ring->handle,
                                   ring->pair->self);

    if (rc < 0) {
        errno = -rc;
        mgds_debug("a ring of another process cannot be mapped: %m: messages "
                   "to it are staged");
        return rc;
    }
    ring->base = mgds_ring_view_address(ring->view);
    ring->units = ring->handle.units;
    return 0;
}

/* Without the lock. */
static int map_ring(struct mgds_far_ring *ring)
{
    int rc = 0;

    if (ring->pair->self)
        rc = mgds_own_rings_make(ring->pair, ring->units, &ring->number,
                                 &ring->handle);
    if (rc == 0)
        rc = open_view(ring);
    if (rc == 0 && ring->token)
        rc = mgds_places_init(&ring->places, ring->units, first_serial());
    return rc;
}

/* Their done words: one ring of them is enough. */
static void settle_dones(struct mgds_far_ring *ring, int error)
{
    struct mgds_ring_pair *pair = ring->pair;

    if (error || !ring->given)
        mgds_ring_pair_say(pair, MGDS_ENVELOPE_RING_MAPPED, ring->number,
                           error);
    if (!error) {
        ring->state = MGDS_FAR_USED;
        TAILQ_INSERT_TAIL(&pair->used, ring, link);
    }
    pair->their_dones = error ? NULL : ring;
}

/* Nobody may wait for it any more. */
static void settle_ring(struct mgds_far_ring *ring, int error)
{
    struct mgds_ring_pair *pair = ring->pair;
    struct mgds_ring_ask *ask = find_ask(pair, ring->token);

    if (ask)
        answer_listed(ask, error ? NULL : ring, error, pair);
    else if (!error)
        rest_ring(ring);
}

static void settle_map(struct mgds_far_ring *ring, int error)
{
    if (ring->token == 0)
        settle_dones(ring, error);
    else
        settle_ring(ring, error);
    if (!error)
        return;
    if (ring->view) /* told when it is closed */
        mgds_ring_view_destroy(ring->view, tell_closed, ring);
    else {
        if (ring->token)
            disown_ring(ring);
        drop_ring(ring);
    }
}

/* Its owner has told of it. Without memory for a record that is declined:
 * NULL. */
static struct mgds_far_ring *make_told(struct mgds_ring_pair *pair,
                                       uint64_t token, uint32_t number,
                                       const struct mgds_ring_handle *handle)
{
    struct mgds_far_ring *ring = make_ring(pair, token);

    if (!ring) {
        mgds_ring_pair_say(
            pair, token ? MGDS_ENVELOPE_RING_CLOSED : MGDS_ENVELOPE_RING_MAPPED,
            number, -ENOMEM);
        return NULL;
    }
    ring->number = number;
    ring->handle = *handle;
    return ring;
}

static struct mgds_far_ring *make_given(struct mgds_ring_pair *pair,
                                        uint32_t number,
                                        const struct mgds_ring_handle *handle,
                                        bool dones)
{
    struct mgds_far_ring *ring;

    if (dones && pair->their_dones)
        return NULL;
    ring = make_told(pair, dones ? 0 : ++tokens, number, handle);
    if (ring)
        ring->given = true;
    return ring;
}

int mgds_far_take(struct mgds_ring_pair *pair, uint32_t number,
                  const struct mgds_ring_handle *handle, bool dones)
{
    struct mgds_far_ring *ring;
    int rc;

    mgds_engine_enter();
    ring = make_given(pair, number, handle, dones);
    mgds_engine_leave();
    if (!ring)
        return 0;
    rc = map_ring(ring);
    mgds_engine_enter();
    settle_map(ring, rc);
    mgds_engine_leave();
    return rc;
}

static bool run_mapper(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_far_ring *ring =
        MGDS_CONTAINER_OF(work, struct mgds_far_ring, work);
    int rc = map_ring(ring);

    (void)by;
    mgds_engine_enter();
    mgds_work_done(work);
    settle_map(ring, rc);
    mgds_engine_leave();
    return true;
}

static void give_up(struct mgds_work *work)
{
    struct mgds_far_ring *ring =
        MGDS_CONTAINER_OF(work, struct mgds_far_ring, work);

    mgds_engine_enter();
    drop_ring(ring);
    mgds_engine_leave();
}

/* Told. */

static void take_ring(struct mgds_ring_pair *pair,
                      const struct mgds_ring_told *told)
{
    struct mgds_far_ring *ring =
        make_told(pair, told->token, told->number, &told->handle);

    if (ring)
        mgds_work_add(&ring->work, MGDS_WORK_MAP_RING);
}

/* Done words come unasked, once. */
static const char *reason_against(const struct mgds_ring_pair *pair,
                                  const struct mgds_ring_told *told)
{
    if (!pair || pair->self)
        return "no stream here sends to there";
    if (told->token)
        return told->token <= tokens ? NULL : "nobody has asked for it";
    if (told->error || told->handle.units < MGDS_DONES)
        return "it has no done words";
    return pair->their_dones ? "that process has told its done words before"
                             : NULL;
}

static enum mgds_am_verdict on_told(const struct mgds_am *am)
{
    const struct mgds_ring_told *told = &am->head.ring_told;
    struct mgds_ring_pair *pair = mgds_ring_pair_of(&told->ends, am->from);
    const char *why = reason_against(pair, told);
    struct mgds_ring_ask *ask;

    if (told->token <= tokens &&
        mgds_ring_pair_is_gone(&told->ends, am->from)) {
        if (!told->error)
            mgds_ring_pair_return(am->from, &told->ends, told->number,
                                  told->token == 0);
        return MGDS_AM_DONE;
    }
    if (why) {
        mgds_envelope_refuse_ring(am->kind, why);
        return MGDS_AM_DONE;
    }
    ask = told->error ? find_ask(pair, told->token) : NULL;
    if (ask)
        answer_listed(ask, NULL, told->error, pair);
    if (!told->error)
        take_ring(pair, told);
    return MGDS_AM_DONE;
}

static enum mgds_am_verdict on_short(const struct mgds_am *am)
{
    struct mgds_ring_pair *pair =
        mgds_ring_pair_of(&am->head.ring_said.ends, am->from);

    if (pair)
        pair->scarce = true;
    return MGDS_AM_DONE;
}

/* What is not worth its memory. */

static bool has_grown(const struct mgds_far_ring *ring)
{
    return ring->units > MGDS_RING_FIRST;
}

static bool is_unused(struct mgds_far_ring *ring)
{
    bool unused = ring->seen == ring->places.next;

    ring->seen = ring->places.next;
    return unused;
}

/* Nothing is in it, and its channel can do without: it has the pair's. */
static bool can_leave(const struct mgds_far_ring *ring)
{
    return ring->holder && ring->holder != &ring->pair->base.ring &&
           mgds_places_out(&ring->places) == 0;
}

static void leave_unused(struct mgds_ring_pair *pair)
{
    struct mgds_far_ring *ring = TAILQ_FIRST(&pair->used), *next;
    bool due = mgds_clock_ns() - pair->looked > UNUSED_NS;

    if (!due && !pair->scarce)
        return;
    pair->looked = mgds_clock_ns();
    for (; ring; ring = next) {
        next = TAILQ_NEXT(ring, link);
        if (can_leave(ring) && (is_unused(ring) || pair->scarce))
            mgds_far_leave(ring);
    }
}

static void close_idle(struct mgds_ring_pair *pair)
{
    struct mgds_far_ring *ring = TAILQ_FIRST(&pair->idle), *next;
    bool kept = pair->scarce || pair->base.ring;

    for (; ring; ring = next) {
        next = TAILQ_NEXT(ring, link);
        if (kept || has_grown(ring))
            close_ring(ring);
        else
            kept = true;
    }
    pair->scarce = false;
}

void mgds_far_trim(void)
{
    struct mgds_ring_pair *pair;

    LIST_FOREACH(pair, mgds_ring_pairs_all(), link)
    {
        leave_unused(pair);
        close_idle(pair);
    }
}

static void refuse_all(struct mgds_ring_pair *pair)
{
    struct mgds_ring_ask *ask;

    while ((ask = TAILQ_FIRST(&pair->asks)) != NULL)
        answer_listed(ask, NULL, -ENOTCONN, pair);
}

void mgds_far_lose(uint64_t process)
{
    struct mgds_ring_pair *pair;

    LIST_FOREACH(pair, mgds_ring_pairs_all(), link)
    {
        if (pair->process != process)
            continue;
        refuse_all(pair);
        if (!pair->self && pair->state != MGDS_DONES_READY)
            pair->state = MGDS_DONES_REFUSED;
    }
}

void mgds_far_rings_init(void)
{
    static const struct mgds_work_handler mapper = {run_mapper, give_up};

    mgds_work_handle(MGDS_WORK_MAP_RING, &mapper);
    mgds_am_handle(MGDS_ENVELOPE_RING_TOLD, on_told);
    mgds_am_handle(MGDS_ENVELOPE_RING_SHORT, on_short);
}

/* Their done words too, that no receive reads any more. */
static void end_pair(struct mgds_ring_pair *pair)
{
    struct mgds_far_ring *ring = pair->their_dones;

    refuse_all(pair);
    if (ring) {
        TAILQ_REMOVE(&pair->used, ring, link);
        rest_ring(ring);
    }
    pair->their_dones = NULL;
    while ((ring = TAILQ_FIRST(&pair->idle)) != NULL)
        close_ring(ring);
}

void mgds_far_rings_fini(void)
{
    struct mgds_ring_pair *pair, *next;

    mgds_engine_enter();
    epoch++;
    for (pair = LIST_FIRST(mgds_ring_pairs_all()); pair; pair = next) {
        next = LIST_NEXT(pair, link);
        end_pair(pair);
    }
    mgds_ring_pairs_part();
    mgds_engine_leave();
}
