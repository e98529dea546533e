/* The table of own rings, and what makes them; see own_rings.h. */
#include "shim/gds/transport/own_rings.h"

#include <errno.h>
#include <stdlib.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/msg/work.h"

enum state { MAKING, KEPT, TOLD, DECLINED, CLOSED };

/* The share of all bytes that only first rings may have: one in so many. */
enum { FIRST_SHARE = 16 };

struct mgds_own_ring {
    struct mgds_work work;       /* in MAKING */
    struct mgds_ring_pair *pair; /* a reference */
    enum state state;
    bool dones; /* they are done words */
    uint32_t number;
    uint32_t units;         /* that are asked for */
    unsigned messages;      /* that are known, and not over */
    uint64_t token;         /* of who asks */
    struct mgds_ring *ring; /* from KEPT, TOLD on */
};

/* By number, from 1 on; NULL: free. */
static struct mgds_own_ring **table;
static uint32_t room;
static uint32_t lowest = 1; /* no number below is free */

static uint64_t bytes_of(uint32_t units)
{
    return (uint64_t)units * sizeof(struct mgds_unit);
}

bool mgds_own_rings_may_be(void)
{
    const struct mgds_config *config = &mgds_ctx()->config;

    return config->eager > 0 && config->ring_total >= bytes_of(MGDS_RING_LEAST);
}

uint32_t mgds_ring_units_most(void)
{
    uint64_t units = mgds_ctx()->config.ring / sizeof(struct mgds_unit);

    return units < MGDS_RING_MOST ? (uint32_t)units : MGDS_RING_MOST;
}

/* Twice as many numbers. */
static int grow_table(void)
{
    uint32_t larger = room ? 2 * room : 64;
    struct mgds_own_ring **fresh = (struct mgds_own_ring **)mgds_calloc(
        larger, sizeof(struct mgds_own_ring *));

    if (!fresh)
        return -ENOMEM;
    for (uint32_t i = 0; i < room; i++)
        fresh[i] = table[i];
    free(table);
    table = fresh;
    room = larger;
    return 0;
}

static int enter_ring(struct mgds_own_ring *own)
{
    while (lowest < room && table[lowest])
        lowest++;
    if (lowest >= room && grow_table() < 0)
        return -ENOMEM;
    table[lowest] = own;
    own->number = lowest++;
    return 0;
}

static struct mgds_own_ring *find_ring(uint32_t number)
{
    return number > 0 && number < room ? table[number] : NULL;
}

static struct mgds_own_ring *make_record(struct mgds_ring_pair *pair,
                                         uint32_t units)
{
    struct mgds_own_ring *own =
        (struct mgds_own_ring *)mgds_calloc(1, sizeof(*own));

    if (!own || enter_ring(own) < 0) {
        free(own);
        return NULL;
    }
    own->pair = pair;
    own->units = units;
    mgds_ring_pair_get(pair);
    return own;
}

/* Freed at the next safe point. */
static void drop_ring(struct mgds_own_ring *own)
{
    table[own->number] = NULL;
    if (own->number < lowest)
        lowest = own->number;
    mgds_ring_destroy(own->ring);
    mgds_ring_pair_put(own->pair);
    free(own);
}

/* first: rings that are no larger than that have all. */
static uint64_t bytes_left(bool first)
{
    uint64_t total = mgds_ctx()->config.ring_total;
    uint64_t used = mgds_rings_bytes();

    if (!first)
        total -= total / FIRST_SHARE;
    return used < total ? total - used : 0;
}

uint64_t mgds_own_rings_left(void)
{
    return bytes_left(false);
}

/* How many of the units that are asked for may be had; 0: none. */
static uint32_t units_left(uint32_t units)
{
    uint64_t left = bytes_left(units <= MGDS_RING_FIRST);

    while (units > MGDS_RING_LEAST && bytes_of(units) > left)
        units /= 2;
    return bytes_of(units) <= left ? units : 0;
}

/* As large as the GPU has memory for. Without the lock. */
static int allocate_ring(struct mgds_own_ring *own)
{
    uint32_t units = units_left(own->units);
    uint32_t least = own->dones ? own->units : MGDS_RING_LEAST;
    int rc = -ENOMEM;

    for (; units >= least && rc == -ENOMEM; units /= 2)
        rc = mgds_ring_create(&own->ring, own->pair->here, units);
    if (rc < 0) {
        errno = -rc;
        mgds_debug("no ring of %u units for another process: %m", own->units);
    }
    return rc;
}

/* Who has rings of ours that it does not use? */
static void say_short(void)
{
    struct mgds_ring_pair *pair;

    LIST_FOREACH(pair, mgds_ring_pairs_all(), link)
    {
        if (!pair->self)
            mgds_ring_pair_say(pair, MGDS_ENVELOPE_RING_SHORT, 0, 0);
    }
}

/* Negative errno: the other process does not hear of it. */
static int tell_ring(const struct mgds_own_ring *own, int error)
{
    struct mgds_ring_told told = {.ends = mgds_ring_pair_ends(own->pair),
                                  .token = own->token,
                                  .error = error,
                                  .number = own->number};

    if (own->ring)
        mgds_ring_tell(own->ring, &told.handle);
    return mgds_ring_pair_tell(own->pair, MGDS_ENVELOPE_RING_TOLD, &told,
                               sizeof(told));
}

/* They are there: in that state then. */
static void keep_dones(struct mgds_own_ring *own, int error,
                       enum mgds_dones_state made)
{
    struct mgds_ring_pair *pair = own->pair;

    pair->since = mgds_clock_ns();
    pair->state = error ? MGDS_DONES_REFUSED : made;
    if (error)
        return;
    pair->dones = own;
    while (pair->frees < MGDS_DONES) {
        pair->free[pair->frees] = (uint16_t)pair->frees;
        pair->frees++;
    }
}

/* Those of a pair with the process itself are mapped at once. */
static int settle_dones(struct mgds_own_ring *own, int error)
{
    bool self = own->pair->self;

    if (!error && !self)
        error = tell_ring(own, 0);
    keep_dones(own, error, self ? MGDS_DONES_READY : MGDS_DONES_TOLD);
    return error;
}

/* A ring that nobody could be told of is dropped. */
static void settle_ring(struct mgds_own_ring *own, int error)
{
    int rc = own->dones ? settle_dones(own, error) : tell_ring(own, error);

    own->state = TOLD;
    if (error == -ENOMEM)
        say_short();
    if (error || rc < 0)
        drop_ring(own);
}

static bool run_maker(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_own_ring *own =
        MGDS_CONTAINER_OF(work, struct mgds_own_ring, work);
    int rc = allocate_ring(own);

    (void)by;
    mgds_engine_enter();
    mgds_work_done(work);
    settle_ring(own, rc);
    mgds_engine_leave();
    return true;
}

static void give_up(struct mgds_work *work)
{
    struct mgds_own_ring *own =
        MGDS_CONTAINER_OF(work, struct mgds_own_ring, work);

    mgds_engine_enter();
    if (own->dones)
        own->pair->state = MGDS_DONES_NONE;
    drop_ring(own);
    mgds_engine_leave();
}

/* In KEPT, in this call. */
static int make_ring(struct mgds_ring_pair *pair, uint32_t units,
                     uint32_t *number)
{
    struct mgds_own_ring *own;
    int rc;

    mgds_engine_enter();
    own = make_record(pair, units);
    mgds_engine_leave();
    if (!own)
        return -ENOMEM;
    rc = allocate_ring(own);
    mgds_engine_enter();
    own->state = KEPT;
    if (rc == 0)
        *number = own->number;
    else
        drop_ring(own);
    mgds_engine_leave();
    return rc;
}

int mgds_own_rings_make(struct mgds_ring_pair *pair, uint32_t units,
                        uint32_t *number, struct mgds_ring_handle *handle)
{
    int rc = make_ring(pair, units, number);

    mgds_engine_enter();
    if (rc == 0)
        mgds_own_rings_tell(*number, handle);
    mgds_engine_leave();
    return rc;
}

/* The ring goes with the next communicator. */
static bool is_kept(const struct mgds_own_ring *own)
{
    return own && (own->state == KEPT || own->state == DECLINED);
}

bool mgds_own_rings_give_base(struct mgds_ring_pair *pair, uint32_t units)
{
    uint32_t number = 0;
    bool due, kept;
    int rc;

    mgds_engine_enter();
    due = pair->base.given == 0;
    kept = is_kept(find_ring(pair->base.given));
    if (due)
        pair->base.given = MGDS_GIVING;
    mgds_engine_leave();
    if (!due)
        return kept;
    rc = make_ring(pair, units, &number);
    mgds_engine_enter();
    pair->base.given = rc == 0 ? number : 0;
    mgds_engine_leave();
    return rc == 0;
}

static struct mgds_own_ring *begin_dones(struct mgds_ring_pair *pair)
{
    struct mgds_own_ring *own = make_record(pair, MGDS_DONES);

    if (!own)
        return NULL;
    own->dones = true;
    pair->state = MGDS_DONES_MAKING;
    pair->since = mgds_clock_ns();
    return own;
}

bool mgds_own_rings_give_dones(struct mgds_ring_pair *pair)
{
    struct mgds_own_ring *own;
    bool kept;
    int rc;

    mgds_engine_enter();
    kept = is_kept(pair->dones);
    own = pair->state == MGDS_DONES_NONE ? begin_dones(pair) : NULL;
    mgds_engine_leave();
    if (!own)
        return kept;
    rc = allocate_ring(own);
    mgds_engine_enter();
    own->state = KEPT;
    keep_dones(own, rc, MGDS_DONES_MAKING);
    if (rc < 0)
        drop_ring(own);
    mgds_engine_leave();
    return rc == 0;
}

uint32_t mgds_own_rings_tell(uint32_t number, struct mgds_ring_handle *handle)
{
    struct mgds_own_ring *own = find_ring(number);

    if (!is_kept(own))
        return 0;
    own->state = TOLD;
    mgds_ring_tell(own->ring, handle);
    if (own->dones)
        own->pair->state = MGDS_DONES_READY;
    return number;
}

void mgds_own_rings_close(uint32_t number)
{
    struct mgds_own_ring *own = find_ring(number);

    if (own && own->pair->self && own->state == TOLD)
        own->state = CLOSED;
}

/* Some of the words may be out. */
static void tell_again(struct mgds_own_ring *own)
{
    bool told = tell_ring(own, 0) == 0;

    own->state = told ? TOLD : DECLINED;
    own->pair->state = told ? MGDS_DONES_TOLD : MGDS_DONES_REFUSED;
    own->pair->since = mgds_clock_ns();
}

void mgds_own_rings_add_dones(struct mgds_ring_pair *pair)
{
    struct mgds_own_ring *own;

    if (pair->dones) {
        if (pair->dones->state == DECLINED)
            tell_again(pair->dones);
        return;
    }
    own = begin_dones(pair);
    if (own) {
        mgds_work_add(&own->work, MGDS_WORK_MAKE_RING);
        return;
    }
    pair->state = MGDS_DONES_REFUSED;
    pair->since = mgds_clock_ns();
}

uint32_t mgds_own_ring_number(const struct mgds_own_ring *own)
{
    return own->number;
}

uint64_t mgds_own_ring_address(const struct mgds_own_ring *own)
{
    return mgds_ring_address(own->ring);
}

uint64_t mgds_own_rings_place(uint32_t number, uint64_t process,
                              const struct mgds_context *ctx, uint32_t units,
                              size_t count)
{
    const struct mgds_own_ring *own = find_ring(number);

    if (!own || own->state != TOLD || own->dones ||
        own->pair->process != process || own->pair->here != ctx)
        return 0;
    return mgds_ring_place(own->ring, units, count);
}

void mgds_own_rings_hold(uint32_t number)
{
    struct mgds_own_ring *own = find_ring(number);

    if (own)
        own->messages++;
}

void mgds_own_rings_let_go(uint32_t number)
{
    struct mgds_own_ring *own = find_ring(number);

    if (own && own->messages > 0)
        own->messages--;
}

/* Without memory for a record, or when nobody here has anything to do with the
 * two contexts any more. */
static void refuse_ask(const struct mgds_am *am)
{
    const struct mgds_ring_asked *asked = &am->head.ring_asked;
    const struct mgds_ring_told told = {
        .ends = {asked->ends.to, asked->ends.from},
        .token = asked->token,
        .error = -ENOMEM};

    mgds_ring_pair_reply(am->from, MGDS_ENVELOPE_RING_TOLD, &told,
                         sizeof(told));
}

static enum mgds_am_verdict on_asked(const struct mgds_am *am)
{
    const struct mgds_ring_asked *asked = &am->head.ring_asked;
    struct mgds_ring_pair *pair = mgds_ring_pair_of(&asked->ends, am->from);
    struct mgds_own_ring *own = NULL;
    uint32_t most = mgds_ring_units_most();
    uint32_t units = asked->units < most ? asked->units : most;

    if (units < MGDS_RING_LEAST)
        units = MGDS_RING_LEAST;
    if (pair && mgds_own_rings_may_be())
        own = make_record(pair, units);
    if (!own) {
        refuse_ask(am);
        return MGDS_AM_DONE;
    }
    own->token = asked->token;
    mgds_work_add(&own->work, MGDS_WORK_MAKE_RING);
    return MGDS_AM_DONE;
}

/* The ring of the pair that an envelope names, or NULL. */
static struct mgds_own_ring *named_ring(const struct mgds_am *am, bool dones)
{
    const struct mgds_ring_said *said = &am->head.ring_said;
    struct mgds_own_ring *own = find_ring(said->number);

    if (own && own->state == TOLD && own->dones == dones &&
        own->pair == mgds_ring_pair_of(&said->ends, am->from))
        return own;
    mgds_envelope_refuse_ring(am->kind, "it names no ring that it may have");
    return NULL;
}

/* A ring that went with a communicator and was not mapped there goes with the
 * next one (mgds_ring_pair_return). */
static enum mgds_am_verdict on_closed(const struct mgds_am *am)
{
    struct mgds_own_ring *own = named_ring(am, false);
    bool given = own && own->pair->base.given == own->number;
    bool unmapped = am->head.ring_said.error != 0;

    if (own)
        own->state = given && unmapped ? KEPT : CLOSED;
    if (given && !unmapped)
        own->pair->base.given = 0;
    return MGDS_AM_DONE;
}

/* They could not be mapped: then, or ever, or for nobody there has anything to
 * do with the two contexts. */
static enum state state_after(int error)
{
    if (error == -ENOTCONN)
        return KEPT;
    return mgds_ring_error_passes(error) ? DECLINED : TOLD;
}

static void refuse_dones(struct mgds_own_ring *own, int error)
{
    own->state = state_after(error);
    own->pair->state = MGDS_DONES_REFUSED;
    own->pair->since = mgds_clock_ns();
}

static enum mgds_am_verdict on_mapped(const struct mgds_am *am)
{
    struct mgds_own_ring *own = named_ring(am, true);
    int error = am->head.ring_said.error;

    if (own && error)
        refuse_dones(own, error);
    else if (own && own->pair->state == MGDS_DONES_TOLD)
        own->pair->state = MGDS_DONES_READY;
    return MGDS_AM_DONE;
}

void mgds_own_rings_trim(void)
{
    for (uint32_t i = 0; i < room; i++)
        if (table[i] && table[i]->state == CLOSED && table[i]->messages == 0)
            drop_ring(table[i]);
}

void mgds_own_rings_init(void)
{
    static const struct mgds_work_handler maker = {run_maker, give_up};

    mgds_work_handle(MGDS_WORK_MAKE_RING, &maker);
    mgds_am_handle(MGDS_ENVELOPE_RING_ASKED, on_asked);
    mgds_am_handle(MGDS_ENVELOPE_RING_CLOSED, on_closed);
    mgds_am_handle(MGDS_ENVELOPE_RING_MAPPED, on_mapped);
}

void mgds_own_rings_fini(void)
{
    mgds_engine_enter();
    for (uint32_t i = 0; i < room; i++)
        if (table[i]) {
            table[i]->pair->dones = NULL;
            table[i]->pair->state = MGDS_DONES_NONE;
            table[i]->pair->frees = 0;
            table[i]->pair->base.given = 0;
            drop_ring(table[i]);
        }
    free(table);
    table = NULL;
    room = 0;
    lowest = 1;
    mgds_engine_leave();
}
