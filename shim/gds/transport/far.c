/* Far ways: what they are made of, and their WRITEs; see far.h. */
#include "shim/gds/transport/far.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/dmabuf.h"
#include "shim/gds/hca/news.h"
#include "shim/gds/hca/qp.h"
#include "shim/gds/hca/region.h"
#include "shim/gds/hca/syndrome.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/rail.h"
#include "shim/gds/transport/writes.h"
#include "shim/gds/wire/wire.h"

/* WRITEs that the HCA has at a time; those behind them wait. */
enum { BLOCKS = 1024 };

/* From one look for events to the next, ns: one costs a system call. */
enum { NEWS_NS = 10000000 };

static_assert((int)MGDS_FAR_END_BYTES == (int)MGDS_END_BYTES, "a frame");

enum state { MADE = 1, OPEN, BROKEN };

struct mgds_far {
    struct mgds_far_spec spec;
    struct mgds_rail *rail; /* a reference */
    struct mgds_qp *qp;
    struct mgds_ring *ring, *mirror;
    struct mgds_region in, out; /* of the own ring; of the mirror */
    struct mgds_far_card there;
    /* under the engine's lock, once it is connected */
    enum state state;
    struct mgds_writes writes;
    bool busy; /* among those that are */
    TAILQ_ENTRY(mgds_far) link, all;
};

/* Under the engine's lock. */
TAILQ_HEAD(fars, mgds_far);
static struct fars connected = TAILQ_HEAD_INITIALIZER(connected);
static struct fars busy = TAILQ_HEAD_INITIALIZER(busy);
static unsigned under_way; /* of busy; atomic */

static size_t bytes_of(uint32_t units)
{
    return (size_t)units * sizeof(struct mgds_unit);
}

static int register_ring(struct mgds_far *far, struct mgds_region *region,
                         const struct mgds_ring *ring,
                         struct mgds_refusal *refusal)
{
    struct mgds_region_memory memory = {.address = mgds_ring_address(ring),
                                        .bytes = bytes_of(far->spec.units),
                                        .gpu = true,
                                        .dmabuf = -1};
    int rc;

    if (mgds_dmabuf_export(&memory.dmabuf, far->spec.ctx,
                           (const void *)(uintptr_t)memory.address,
                           memory.bytes) < 0)
        memory.dmabuf = -1;
    rc = mgds_region_init(region, far->rail, &memory, refusal);
    if (memory.dmabuf >= 0)
        close(memory.dmabuf);
    return rc;
}

static int make_rings(struct mgds_far *far, struct mgds_refusal *refusal)
{
    int rc = mgds_ring_create(&far->ring, far->spec.ctx, far->spec.units);

    if (rc == 0)
        rc = mgds_ring_create(&far->mirror, far->spec.ctx, far->spec.units);
    return rc == 0 ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_MIRROR, -rc);
}

static int make_parts(struct mgds_far *far, struct mgds_refusal *refusal)
{
    int rc = mgds_transport_rail_get(&far->rail, refusal);

    if (rc == 0)
        rc = mgds_qp_create(&far->qp, far->rail, BLOCKS, refusal);
    if (rc == 0)
        rc = make_rings(far, refusal);
    if (rc == 0)
        rc = register_ring(far, &far->out, far->mirror, refusal);
    if (rc == 0)
        rc = register_ring(far, &far->in, far->ring, refusal);
    return rc;
}

int mgds_far_create(struct mgds_far **out, const struct mgds_far_spec *spec,
                    struct mgds_refusal *refusal)
{
    struct mgds_far *far = (struct mgds_far *)mgds_calloc(1, sizeof(*far));
    int rc;

    if (!far)
        return mgds_refuse(refusal, MGDS_REFUSAL_MIRROR, ENOMEM);
    far->spec = *spec;
    far->state = MADE;
    rc = make_parts(far, refusal);
    if (rc < 0) {
        mgds_far_destroy(far);
        return rc;
    }
    *out = far;
    return 0;
}

void mgds_far_tell(const struct mgds_far *far, struct mgds_far_card *out)
{
    struct mgds_end end = {.rails = 1};

    mgds_qp_describe(far->qp, &end.rail[0]);
    mgds_end_pack(&end, out->end);
    out->address = mgds_ring_address(far->ring);
    out->rkey = far->in.rkey;
    out->made = 1;
}

static int connect_qp(struct mgds_far *far, const struct mgds_far_card *there,
                      struct mgds_refusal *refusal)
{
    struct mgds_end mine = {.rails = 1}, theirs;
    struct mgds_terms terms;
    int rc = mgds_end_unpack(&theirs, there->end, sizeof(there->end), refusal);

    if (rc < 0)
        return rc;
    mgds_qp_describe(far->qp, &mine.rail[0]);
    rc = mgds_end_agree(&mine, &theirs, &terms, refusal);
    if (rc < 0)
        return rc;
    return mgds_qp_connect(far->qp, &theirs.rail[0], terms.mtu[0], refusal);
}

int mgds_far_connect(struct mgds_far *far, const struct mgds_far_card *there,
                     struct mgds_refusal *refusal)
{
    const struct mgds_wqe_local from = {(uintptr_t)mgds_far_mirror(far), 0,
                                        far->out.lkey};
    const struct mgds_wqe_remote to = {there->address, there->rkey};
    int rc = connect_qp(far, there, refusal);

    if (rc < 0)
        return rc;
    mgds_writes_init(&far->writes, mgds_qp_sendq(far->qp), from, to);
    mgds_engine_enter();
    far->state = OPEN;
    TAILQ_INSERT_TAIL(&connected, far, all);
    mgds_engine_leave();
    return 0;
}

static void leave_connected(struct mgds_far *far)
{
    if (far->state == MADE)
        return;
    mgds_engine_enter();
    TAILQ_REMOVE(&connected, far, all);
    mgds_engine_leave();
    mgds_writes_fini(&far->writes);
}

/* The queue pair goes first: nobody reads the mirror, or writes into the ring,
 * when their keys go. */
void mgds_far_destroy(struct mgds_far *far)
{
    if (!far)
        return;
    leave_connected(far);
    mgds_qp_destroy(far->qp);
    if (far->in.mr)
        mgds_region_fini(&far->in);
    if (far->out.mr)
        mgds_region_fini(&far->out);
    mgds_ring_destroy(far->mirror);
    mgds_ring_destroy(far->ring);
    if (far->rail)
        mgds_transport_rail_put();
    free(far);
}

char *mgds_far_mirror(const struct mgds_far *far)
{
    return (char *)(uintptr_t)mgds_ring_address(far->mirror);
}

uint32_t mgds_far_units(const struct mgds_far *far)
{
    return far->spec.units;
}

uint64_t mgds_far_place(const struct mgds_far *far, uint32_t units,
                        size_t count)
{
    return mgds_ring_place(far->ring, units, count);
}

bool mgds_far_is_open(const struct mgds_far *far)
{
    return far->state == OPEN;
}

/* All of the following under the engine's lock. */

/* While something is under way the wire's thread makes rounds. */
static void settle_busy(struct mgds_far *far)
{
    bool is_busy = !mgds_writes_are_over(&far->writes);

    if (is_busy == far->busy)
        return;
    far->busy = is_busy;
    if (is_busy) {
        TAILQ_INSERT_TAIL(&busy, far, link);
        __atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
        mgds_wire_hold();
    } else {
        TAILQ_REMOVE(&busy, far, link);
        __atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
        mgds_wire_release();
    }
}

int mgds_far_push(struct mgds_far *far, uint32_t units, uint32_t count,
                  void *arg)
{
    const struct mgds_write write = {.offset = bytes_of(units),
                                     .bytes = (uint32_t)bytes_of(count),
                                     .arg = arg};

    if (!mgds_far_is_open(far))
        return -ECONNRESET;
    if (mgds_writes_add(&far->writes, &write) < 0)
        return -ENOMEM;
    mgds_count(ib_writes);
    mgds_writes_post(&far->writes);
    settle_busy(far);
    return 0;
}

/* What has completed is well; the connection of the rest is of no use any more.
 */
static void break_far(struct mgds_far *far, const char *why)
{
    struct mgds_write write;

    if (!mgds_far_is_open(far))
        return;
    far->state = BROKEN;
    mgds_count(ib_broken);
    mgds_warn("the InfiniBand connection to rank %u is broken (%s): messages "
              "to it take host",
              far->spec.rank, why);
    mgds_qp_break(far->qp);
    while (mgds_writes_take(&far->writes, &write))
        far->spec.over(write.arg, 0, NULL);
    while (mgds_writes_drop(&far->writes, &write))
        far->spec.over(write.arg, -ECONNRESET, why);
    settle_busy(far);
}

static bool poll_far(struct mgds_far *far)
{
    struct mgds_write write;
    uint8_t syndrome = 0;
    bool any = false;

    if (mgds_writes_poll(&far->writes, &syndrome) < 0) {
        break_far(far, mgds_syndrome_text(syndrome));
        return true;
    }
    while (mgds_writes_take(&far->writes, &write)) {
        far->spec.over(write.arg, 0, NULL);
        any = true;
    }
    if (any)
        mgds_writes_post(&far->writes);
    settle_busy(far);
    return any;
}

/* qpn 0: those of which that is not known. */
static void break_queue(uint32_t qpn, const char *why)
{
    struct mgds_far *far;

    TAILQ_FOREACH(far, &connected, all)
    {
        if (qpn == 0 || mgds_qp_sendq(far->qp)->qpn == qpn)
            break_far(far, why);
    }
}

/* What breaks a queue without a CQE: else its WRITEs would never be over. A
 * port that is down ends them by a CQE, unless it is up again before. */
static void hear_news(struct mgds_rail *rail)
{
    static uint64_t due;
    struct mgds_news news;

    if (mgds_clock_ns() < due)
        return;
    due = mgds_clock_ns() + NEWS_NS;
    while (mgds_rail_hear(rail, &news) == 1) {
        if (news.kind == MGDS_NEWS_QUEUE)
            break_queue(news.qpn, "its queue pair has failed");
        else if (news.kind == MGDS_NEWS_DEVICE)
            break_queue(0, "the device has failed");
    }
}

bool mgds_fars_due(void)
{
    return __atomic_load_n(&under_way, __ATOMIC_RELAXED) > 0;
}

bool mgds_fars_poll(void)
{
    struct mgds_far *far, *next;
    bool any = false;

    far = TAILQ_FIRST(&busy);
    if (far)
        hear_news(far->rail);
    for (far = TAILQ_FIRST(&busy); far; far = next) {
        next = TAILQ_NEXT(far, link);
        any |= poll_far(far);
    }
    return any;
}
