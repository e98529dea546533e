/* The top of the engine: the wire's rounds, its thread, the worker and host
 * calls enter here to move all that is under way. The wire is opened and closed
 * here, too. See comm.h. */
#include "shim/base/config.h"
#include "shim/base/lock.h"
#include "shim/ctx.h"
#include "shim/gds/msg/arrive.h"
#include "shim/gds/msg/asked.h"
#include "shim/gds/comm/broken.h"
#include "shim/gds/proto/credit.h"
#include "shim/gds/comm/dump.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/comm/expire.h"
#include "shim/gds/msg/hasten.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/comm/lost.h"
#include "shim/gds/proto/memory.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/orphan.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/msg/reap.h"
#include "shim/gds/msg/ruin.h"
#include "shim/gds/msg/stand.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/comm/watch.h"
#include "shim/gds/comm/wildcards.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/msg/worker.h"
#include "shim/gds/proto/fallback.h"
#include "shim/gds/proto/lift.h"
#include "shim/gds/stream/hwqueue.h"
#include "shim/gds/transport/far.h"
#include "shim/gds/transport/far_rings.h"
#include "shim/gds/transport/own_rings.h"

static struct mgds_lock open_lock = MGDS_LOCK_INIT(MGDS_LOCK_ENGINE);
static bool open; /* the wire; under open_lock */

/* A round of the wire's, or of who waits on the host. */
static int look_at_streams(void *arg)
{
    bool any;

    (void)arg;
    /* most rounds find nothing: they leave the lock to those who call */
    if (!mgds_timelines_due() && !mgds_works_due() && !mgds_stands_due() &&
        !mgds_reap_due() && !mgds_fars_due())
        return 0;
    mgds_engine_enter();
    any = mgds_timelines_poll();
    any |= mgds_fars_poll();
    if (mgds_stands_due()) {
        mgds_stands_look();
        mgds_watch_look();
        mgds_expire_look();
    }
    mgds_works_run_locked();
    mgds_engine_leave();
    mgds_timelines_reap();
    return any;
}

/* A host call has left it to the worker to ask the streams. Atomic: the call
 * sets it ahead of mgds_worker_call, the worker clears it ahead of asking. */
static bool left_to_ask;

/* Streams are asked, and work is done, by this call or by the worker. False:
 * there is no worker. */
static bool leave_to_worker(void)
{
    bool left = mgds_works_leave();

    if (left && (mgds_timelines_to_query() || mgds_timelines_to_check())) {
        __atomic_store_n(&left_to_ask, true, __ATOMIC_RELEASE);
        left = mgds_worker_call();
    }
    return left;
}

/* While a wait of ours stands a thread of the program may sit in a call of the
 * driver's that waits for it, cuMemFree say, and keep all others: who makes a
 * host call, whose message may be here, must not be among these. */
void mgds_op_progress(void)
{
    bool drives;

    mgds_wire_progress();
    drives = !mgds_hwqueue_any() || !leave_to_worker();
    if (drives) {
        mgds_timelines_query();
        mgds_timelines_check();
    }
    mgds_timelines_ask();
    look_at_streams(NULL);
    if (drives)
        mgds_works_run(MGDS_WORK_BY_HOST);
    mgds_watch_speak();
}

/* By the wire's thread. */
static void do_chores(void)
{
    mgds_works_run(MGDS_WORK_BY_WIRE);
    mgds_watch_speak();
    mgds_dump_chore();
}

/* The worker does what no host call came by to do, and what the driver may
 * keep.
 */
static void do_late_work(void)
{
    mgds_works_run(MGDS_WORK_BY_WORKER);
    if (!__atomic_exchange_n(&left_to_ask, false, __ATOMIC_ACQUIRE))
        return;
    mgds_timelines_query();
    mgds_timelines_check();
}

static int open_once(void)
{
    int rc;

    mgds_credits_init();
    mgds_exchange_init();
    mgds_arrive_init();
    mgds_broken_init();
    mgds_memory_init();
    mgds_own_rings_init();
    mgds_far_rings_init();
    mgds_fallback_init();
    mgds_lift_init();
    mgds_hasten_init();
    mgds_orphan_init();
    mgds_quit_init();
    mgds_expire_init();
    mgds_lost_init();
    mgds_ruin_init();
    mgds_asked_init();
    mgds_wildcards_init();
    mgds_worker_init(do_late_work);
    mgds_wire_chore(do_chores);
    rc = mgds_wire_open(&mgds_ctx()->config);
    if (rc < 0)
        return rc;
    rc = mgds_wire_poller(look_at_streams, NULL);
    if (rc < 0)
        mgds_wire_close();
    return rc;
}

static int open_wire(void)
{
    int rc = 0;

    mgds_lock_acquire(&open_lock);
    if (!open)
        rc = open_once();
    open = rc == 0;
    mgds_lock_release(&open_lock);
    return rc;
}

static void close_wire(void)
{
    mgds_lock_acquire(&open_lock);
    if (open) {
        mgds_wire_poller_end(look_at_streams, NULL);
        mgds_wire_close();
    }
    open = false;
    mgds_lock_release(&open_lock);
}

int mgds_comms_open(bool network, const void **address, size_t *bytes)
{
    int rc = open_wire();

    if (rc == 0 && network)
        rc = mgds_wire_open_network();
    return rc < 0 ? rc : mgds_wire_address(address, bytes);
}

bool mgds_comms_near(const struct mgds_member *member)
{
    return mgds_wire_near(member->address, member->address_bytes);
}

/* The engine gives up operations that are not done: their records stay, for
 * streams may still come to them and requests name them, but no later epoch
 * knows of them. */
static void give_up(void)
{
    mgds_engine_enter();
    mgds_comms_forget();
    mgds_am_forget();
    mgds_engine_leave();
}

void mgds_comms_fini(void)
{
    mgds_engine_enter();
    mgds_timelines_release();
    mgds_credits_tell();
    mgds_engine_leave();
    close_wire();
    mgds_worker_fini();
    mgds_works_fini();
    mgds_memory_fini();
    give_up();
    mgds_ops_forget();
    mgds_timelines_fini();
    mgds_far_rings_fini();
    mgds_op_spares_clear();
    mgds_spares_clear(&mgds_wait_spares);
    mgds_spares_clear(&mgds_message_spares);
}

void mgds_comms_gone(void)
{
    mgds_own_rings_fini();
}
