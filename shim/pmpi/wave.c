/* The requests of one completion call. */
#include "shim/pmpi/wave.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/comm/comm.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/own_handle.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"
#include "shim/pmpi/wave_own.h"

static bool ignores(const MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE; /* MPI_STATUS_IGNORE too */
}

static int make_room(struct mgds_wave *wave)
{
    size_t n = (size_t)wave->count;
    size_t drops = n * sizeof(*wave->drops);

    wave->drops = wave->small_drops;
    wave->memory = NULL;
    if (ignores(wave->statuses))
        wave->statuses = wave->small_statuses;
    if (n <= MGDS_WAVE_SMALL)
        return 0;
    wave->memory =
        mgds_malloc(drops + n * (sizeof(MPI_Status) + sizeof(MPI_Request)));
    if (!wave->memory)
        return -ENOMEM;
    wave->drops = wave->memory;
    if (wave->statuses == wave->small_statuses)
        wave->statuses = (MPI_Status *)(void *)((char *)wave->memory + drops);
    return 0;
}

/* Room for what goes down instead of the caller's requests. */
static MPI_Request *own_requests(struct mgds_wave *wave)
{
    size_t n = (size_t)wave->count;
    char *memory = wave->memory;

    if (!memory)
        return wave->small_requests;
    memory += n * (sizeof(*wave->drops) + sizeof(MPI_Status));
    return (MPI_Request *)(void *)memory;
}

static void hold_generalized(struct mgds_wave *wave, struct mgds_drop *drop)
{
    if (drop->seen.kind != MGDS_REQUEST_IS_GENERALIZED)
        return;
    mgds_request_get(drop->seen.request);
    wave->generalized++;
}

static void let_generalized_go(struct mgds_wave *wave, struct mgds_drop *drop)
{
    if (drop->seen.kind != MGDS_REQUEST_IS_GENERALIZED)
        return;
    wave->generalized--;
    drop->seen.kind = 0;
    mgds_request_put(drop->seen.request);
}

/* NULL: the persistent request is of no stream communicator. */
static struct mgds_stream_persist *stream_persist(const struct mgds_drop *drop)
{
    return drop->persist->ops->kind == MGDS_REQUEST_IS_TEMPLATE
               ? (struct mgds_stream_persist *)drop->persist
               : NULL;
}

/* The request that stands in for it now, or NULL. */
static struct mgds_request *stand_in_of(const struct mgds_drop *drop)
{
    const struct mgds_stream_persist *persist = stream_persist(drop);

    if (!persist)
        return drop->persist->stand_in;
    return persist->current ? &persist->current->request : NULL;
}

static int show(struct mgds_wave *wave, struct mgds_drop *drop)
{
    struct mgds_stream_persist *persist = stream_persist(drop);
    const struct mgds_request *request;

    drop->held = persist && mgds_stream_persist_is_under_way(persist);
    wave->held += drop->held;
    request = stand_in_of(drop);
    if (drop->held || !request)
        return 0;
    if (persist)
        return mgds_stream_req_show(persist->current, &drop->handle);
    drop->handle = request->handle;
    return 0;
}

/* Lets the stand-in of a persistent request go down, or nothing. */
static int stand_in(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];
    int rc;

    drop->handle = MPI_REQUEST_NULL;
    drop->seen = (struct mgds_request_seen){.request = NULL};
    rc = show(wave, drop);
    wave->requests[i] = drop->handle;
    if (rc < 0 || drop->handle == MPI_REQUEST_NULL)
        return rc;
    drop->seen = mgds_requests_look(drop->handle);
    hold_generalized(wave, drop);
    return 0;
}

/* From here on an array of ours goes down. */
static void copy_requests(struct mgds_wave *wave)
{
    if (wave->requests != wave->callers)
        return;
    wave->requests = own_requests(wave);
    for (int i = 0; i < wave->count; i++)
        wave->requests[i] = wave->drops[i].down = wave->callers[i];
}

static int begin_to_stand_in(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];

    copy_requests(wave);
    drop->persist = drop->seen.request;
    mgds_request_get(drop->persist);
    wave->persists++;
    return stand_in(wave, i);
}

static bool has_stand_in(const struct mgds_request_seen *seen)
{
    return seen->kind == MGDS_REQUEST_IS_TEMPLATE ||
           (seen->kind == MGDS_REQUEST_IS_PERSISTENT &&
            seen->request->state == MGDS_REQUEST_GIVEN);
}

/* Who is behind one of the handles: 0 or -ENOMEM. */
static int look_at(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];

    drop->handle = wave->callers[i];
    drop->unsaid = 0;
    drop->persist = NULL;
    drop->held = drop->own = false;
    drop->seen = mgds_requests_look(drop->handle);
    if (has_stand_in(&drop->seen))
        return begin_to_stand_in(wave, i);
    hold_generalized(wave, drop);
    if (drop->seen.kind == 0 || !mgds_own_handle_is(drop->handle))
        return 0;
    copy_requests(wave);
    return mgds_wave_own_begin(wave, i);
}

/* How many are ours, or -ENOMEM: then count is of those that were looked at. */
static int look_up(struct mgds_wave *wave)
{
    int rc = 0;

    wave->ours = wave->generalized = wave->persists = wave->held = 0;
    wave->owns = 0;
    for (int i = 0; i < wave->count && rc == 0; i++) {
        rc = look_at(wave, i);
        wave->ours += wave->drops[i].persist || wave->drops[i].seen.kind != 0;
        if (rc < 0)
            wave->count = i + 1;
    }
    wave->added = mgds_requests_added;
    return rc < 0 ? rc : wave->ours;
}

/* What is not hidden may end the call before those that are. */
static bool has_others(const struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count; i++)
        if (wave->callers[i] != MPI_REQUEST_NULL &&
            !mgds_own_handle_is(wave->callers[i]))
            return true;
    return false;
}

int mgds_wave_init(struct mgds_wave *wave, MPI_Request *requests, int count,
                   MPI_Status *statuses, enum mgds_wave_way way)
{
    int rc;

    mgds_request_orphans_poll();
    if (!requests || count <= 0)
        return 0;
    wave->requests = wave->callers = requests;
    wave->count = count;
    wave->statuses = statuses;
    wave->way = way;
    if (way == MGDS_WAVE_TEST && has_others(wave))
        wave->way = MGDS_WAVE_PICK;
    rc = make_room(wave);
    if (rc < 0)
        return rc;
    rc = look_up(wave);
    if (rc <= 0)
        mgds_wave_fini(wave);
    else if (wave->generalized > 0 || wave->persists > 0)
        mgds_groups_flush();
    return rc;
}

void mgds_wave_fini(struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (mgds_wave_generalized_at(wave, i))
            mgds_request_put(mgds_wave_generalized_at(wave, i));
    for (int i = 0; i < wave->count && wave->persists > 0; i++)
        if (wave->drops[i].persist)
            mgds_request_put(wave->drops[i].persist);
    free(wave->memory);
}

/* Without memory for what stands for it, it is held on. */
static void free_if_over(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];

    if (stand_in(wave, i) == 0)
        return;
    drop->held = true;
    wave->held++;
}

static void look_at_persist(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];
    const struct mgds_request *request = mgds_wave_generalized_at(wave, i);

    if (drop->held) {
        wave->held--;
        free_if_over(wave, i);
    } else if (request && request != stand_in_of(drop)) {
        let_generalized_go(wave, drop);
        wave->requests[i] = MPI_REQUEST_NULL;
    }
}

/* An error handler has put a receive of ours in the place of another request.
 * Without memory to show it, the call below is not told of it. */
static bool is_fresh(const struct mgds_wave *wave, int i)
{
    return wave->callers[i] != wave->drops[i].handle &&
           mgds_own_handle_is(wave->callers[i]);
}

/* What goes down is another request than before, or its serial is. */
static void look_at_other(const struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];

    drop->handle = wave->requests[i];
    drop->seen = mgds_requests_look(drop->handle);
    if (drop->seen.kind == MGDS_REQUEST_IS_GENERALIZED ||
        drop->seen.kind == MGDS_REQUEST_IS_TEMPLATE)
        drop->seen.kind = 0;
}

/* An error handler may have put another request in the place of one that it has
 * completed or freed. A request of MPI's goes down; what has a handle of our
 * own is left to look_again. */
static void look_at_own(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];
    MPI_Request now = wave->callers[i];

    if (mgds_wave_own_look(wave, i))
        return;
    let_generalized_go(wave, drop);
    if (now == MPI_REQUEST_NULL || mgds_own_handle_is(now))
        return;
    drop->own = false;
    wave->requests[i] = drop->down = now;
    look_at_other(wave, i);
}

/* Held ones may have come free, and an error handler may have completed or
 * freed others: then nothing stands for them. */
static void look_at_stand_ins(struct mgds_wave *wave)
{
    if (wave->requests == wave->callers)
        return;
    for (int i = 0; i < wave->count; i++) {
        struct mgds_drop *drop = &wave->drops[i];

        if (drop->persist)
            look_at_persist(wave, i);
        else if (drop->own)
            look_at_own(wave, i);
        else
            wave->requests[i] = drop->down = wave->callers[i];
    }
}

/* An error handler may have put requests of its own in the places of others: of
 * those that it completed or freed settle finds nothing. MPI makes the steps of
 * generalized ones, but of those with handles of our own, which may be older
 * than the call. */
static void look_again_at(struct mgds_wave *wave, int i, bool added)
{
    struct mgds_drop *drop = &wave->drops[i];

    if (is_fresh(wave, i)) {
        let_generalized_go(wave, drop);
        (void)look_at(wave, i);
    } else if (added && drop->seen.kind != 0 &&
               drop->seen.kind != MGDS_REQUEST_IS_GENERALIZED) {
        look_at_other(wave, i);
    }
}

static void look_again(struct mgds_wave *wave)
{
    bool added = wave->added != mgds_requests_added;

    wave->added = mgds_requests_added;
    for (int i = 0; i < wave->count; i++)
        if (!wave->drops[i].persist)
            look_again_at(wave, i, added);
}

/* Of the requests of the call, the receives that others may wait for. */
static int count_open(const struct mgds_wave *wave)
{
    int count = 0;

    for (int i = 0; i < wave->count && wave->generalized > 0; i++) {
        const struct mgds_request *request = mgds_wave_generalized_at(wave, i);

        count += request && __atomic_load_n(&request->open, __ATOMIC_RELAXED);
    }
    return count;
}

static bool step(struct mgds_wave *wave, bool *tested)
{
    struct mgds_grequest_pass pass;
    bool stepped = wave->generalized > 0; /* and error handlers may have run */
    bool done;

    mgds_grequest_pass_begin(&pass);
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (mgds_wave_generalized_at(wave, i) &&
            !mgds_wave_own_is_over(wave, i))
            mgds_grequest_pass_step(&pass, mgds_wave_generalized_at(wave, i));
    done = mgds_grequest_pass_end(&pass);
    *tested = pass.tested;
    if (!done && mgds_direct_armed())
        mgds_direct_open_step(count_open(wave));
    look_at_stand_ins(wave); /* no error handler runs behind it */
    if (stepped)
        look_again(wave);
    return done && wave->held == 0 && !mgds_wave_own_any_left(wave);
}

/* Polls of MPI's have nothing to do once. */
static void mark_stepped(struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->generalized > 0; i++)
        if (mgds_wave_generalized_at(wave, i))
            mgds_wave_generalized_at(wave, i)->stepped = true;
}

void mgds_wave_step(struct mgds_wave *wave)
{
    bool tested;

    step(wave, &tested);
    mark_stepped(wave);
}

bool mgds_wave_is_held(const struct mgds_wave *wave)
{
    return wave->held > 0 || mgds_wave_own_any_left(wave);
}

bool mgds_wave_drive(struct mgds_wave *wave)
{
    bool tested;
    bool done = step(wave, &tested);

    if (!done && !tested)
        mgds_below_progress();
    return done;
}

static bool has_foreign(const struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count; i++)
        if (wave->drops[i].seen.kind == 0 &&
            wave->requests[i] != MPI_REQUEST_NULL)
            return true;
    return false;
}

/* What is held cannot be shown to the call below, which would not wait for
 * it. */
static bool prepare_asking(struct mgds_wave *wave)
{
    if (wave->held > 0 || !has_foreign(wave) || !mgds_wave_own_show(wave))
        return false;
    mark_stepped(wave);
    return true;
}

/* To show a receive costs some 3,000 instructions (docs/decisions.md), as much
 * as a few passes: calls that are over after fewer than these show none. */
bool mgds_wave_drive_all(struct mgds_wave *wave)
{
    enum { PASSES = 256 };
    int next = 0;

    mgds_wave_own_step_in_turn(wave, &next);
    for (int pass = 1; !mgds_wave_drive(wave); pass++) {
        if (pass % PASSES == 0 && prepare_asking(wave))
            return false;
        sched_yield();
        mgds_wave_own_step_in_turn(wave, &next);
    }
    return true;
}
