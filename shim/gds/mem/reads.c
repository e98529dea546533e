/* Copies by kernel under a claim; see reads.h. */
#include "shim/gds/mem/reads.h"

#include <errno.h>

#include "device/kernels.h"
#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/config.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/kernel.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/stream.h"

/* A block copies with all the threads that it may have: of 160 KiB messages in
 * a window 1024 threads each bring 47.9 GB/s. */
enum { ROWS = 64, THREADS = 1024, ENOUGH_LATE = 2 };

/* A block that has come and says nothing for so long may be of a context that
 * has broken; the driver is asked as seldom. */
#define ASK_NS UINT64_C(1000000)
#define REST_NS UINT64_C(1000000000)

enum row_state { FREE, TAKEN, LOST };

struct row {
    enum row_state state;
    uint64_t launch; /* the number of its launch */
};

struct mgds_reads {
    struct mgds_context *ctx;
    struct mgds_kernel_handle *kernel;
    void *stream;
    struct mgds_pinned *pinned;
    struct mgds_read_claim *claims; /* of the rows; in pinned */
    /* atomic, hints: */
    uint64_t life; /* when a block of ours was last seen to live, ns */
    uint64_t rest; /* until when no read begins, ns */
    struct mgds_lock lock;
    /* under lock */
    struct row row[ROWS];
    unsigned next; /* where the search for a row begins */
    unsigned held; /* rows that are not FREE */
    unsigned lost; /* rows that are LOST; atomic: read without the lock */
    uint64_t over; /* a bit for each row that a block had ended, when asked */
    uint64_t launches;
    unsigned late;      /* launches in a row that were */
    uint64_t last_late; /* the number of the last of them */
};

static bool wanted; /* atomic */

/* Made and ended. */

void mgds_reads_want(void)
{
    bool may =
        mgds_ctx()->config.direct_kernel > 0 && !mgds_config_launches_block();

    __atomic_store_n(&wanted, may, __ATOMIC_RELAXED);
}

static int launch_items(struct mgds_reads *reads,
                        const struct mgds_read_args *args)
{
    unsigned blocks = args->count > 0 ? (unsigned)args->count : 1;
    int rc = mgds_context_enter(reads->ctx);

    if (rc < 0)
        return rc;
    rc =
        mgds_kernel_launch(reads->kernel, reads->stream, blocks, THREADS, args);
    mgds_context_leave();
    return rc;
}

/* A first launch may wait for the device: it is made over nothing. */
static int load_kernel(struct mgds_reads *reads)
{
    static const struct mgds_read_args nothing;
    int rc = mgds_kernel_load(&reads->kernel, reads->ctx, mgds_kernel_image,
                              "mgds_read_kernel");

    return rc == 0 ? launch_items(reads, &nothing) : rc;
}

static int make_parts(struct mgds_reads *reads)
{
    int rc = mgds_stream_create(&reads->stream, reads->ctx);

    if (rc == 0)
        rc = mgds_pinned_create(&reads->pinned, reads->ctx,
                                ROWS * sizeof(*reads->claims));
    if (rc < 0)
        return rc;
    reads->claims = (struct mgds_read_claim *)reads->pinned->addr;
    return load_kernel(reads);
}

static int create_reads(struct mgds_reads **out, struct mgds_context *ctx)
{
    struct mgds_reads *reads =
        (struct mgds_reads *)mgds_calloc(1, sizeof(*reads));
    int rc;

    if (!reads)
        return -ENOMEM;
    rc = mgds_lock_init(&reads->lock, MGDS_LOCK_LEAF);
    if (rc < 0) {
        free(reads);
        return rc;
    }
    reads->ctx = mgds_context_get(ctx);
    rc = make_parts(reads);
    if (rc < 0)
        mgds_reads_destroy(reads);
    else
        *out = reads;
    return rc;
}

struct mgds_reads *mgds_reads_create(struct mgds_context *ctx)
{
    struct mgds_reads *reads = NULL;
    int rc;

    if (!__atomic_load_n(&wanted, __ATOMIC_RELAXED))
        return NULL;
    rc = create_reads(&reads, ctx);
    if (rc == 0)
        return reads;
    errno = -rc;
    mgds_info("the kernel that copies short messages cannot be had, a copy "
              "engine copies them all: %m");
    return NULL;
}

/* Acquire: what the block has copied is seen. */
static uint64_t state_of(const struct mgds_reads *reads, unsigned row)
{
    return __atomic_load_n(&reads->claims[row].state, __ATOMIC_ACQUIRE);
}

static bool is_last_word(uint64_t state)
{
    return state == MGDS_READ_DONE || state == MGDS_READ_LEFT;
}

static void free_locked(struct mgds_reads *reads, unsigned row)
{
    reads->row[row].state = FREE;
    reads->held--;
}

static void count_lost_locked(struct mgds_reads *reads, int more)
{
    __atomic_store_n(&reads->lost, reads->lost + (unsigned)more,
                     __ATOMIC_RELAXED);
}

static void find_lost_locked(struct mgds_reads *reads)
{
    for (unsigned i = 0; i < ROWS && reads->lost > 0; i++)
        if (reads->row[i].state == LOST && is_last_word(state_of(reads, i))) {
            free_locked(reads, i);
            count_lost_locked(reads, -1);
        }
}

/* Whether no block comes any more that would look at its claim. */
static bool is_quiet(struct mgds_reads *reads)
{
    bool quiet;

    mgds_lock_acquire(&reads->lock);
    find_lost_locked(reads);
    quiet = reads->held == 0;
    mgds_lock_release(&reads->lock);
    return quiet || !mgds_context_lives(reads->ctx);
}

void mgds_reads_destroy(struct mgds_reads *reads)
{
    if (!reads || !is_quiet(reads))
        return;
    if (reads->kernel)
        mgds_kernel_unload(reads->kernel);
    if (reads->stream)
        mgds_stream_destroy(reads->stream, reads->ctx);
    if (reads->pinned)
        mgds_pinned_destroy(reads->pinned);
    mgds_lock_fini(&reads->lock);
    mgds_context_put(reads->ctx);
    free(reads);
}

/* Rows. */

static void lose_row_locked(struct mgds_reads *reads, unsigned row)
{
    reads->row[row].state = LOST;
    count_lost_locked(reads, 1);
}

static bool is_resting(const struct mgds_reads *reads)
{
    uint64_t rest = __atomic_load_n(&reads->rest, __ATOMIC_RELAXED);

    return rest != 0 && mgds_clock_ns() < rest;
}

static bool has_lost(struct mgds_reads *reads)
{
    bool has;

    if (__atomic_load_n(&reads->lost, __ATOMIC_RELAXED) == 0)
        return false;
    mgds_lock_acquire(&reads->lock);
    find_lost_locked(reads);
    has = reads->lost > 0;
    mgds_lock_release(&reads->lock);
    return has;
}

bool mgds_reads_may_begin(struct mgds_reads *reads)
{
    return reads && !is_resting(reads) && !has_lost(reads);
}

/* There is one that is FREE. */
static unsigned take_row_locked(struct mgds_reads *reads)
{
    unsigned row = reads->next;

    while (reads->row[row].state != FREE)
        row = (row + 1) % ROWS;
    reads->row[row] = (struct row){TAKEN, reads->launches};
    reads->next = (row + 1) % ROWS;
    reads->held++;
    return row;
}

static bool take_rows(struct mgds_reads *reads, unsigned *row, unsigned count)
{
    bool may;

    mgds_lock_acquire(&reads->lock);
    find_lost_locked(reads);
    may = reads->lost == 0 && ROWS - reads->held >= count;
    reads->launches += may;
    for (unsigned i = 0; may && i < count; i++)
        row[i] = take_row_locked(reads);
    mgds_lock_release(&reads->lock);
    return may;
}

/* No block has the claim: the launch makes these words its block's. Atomic, for
 * shows_life looks at all claims. */
static void clear_claim(struct mgds_read_claim *claim)
{
    __atomic_store_n(&claim->off, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&claim->heard, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&claim->state, 0, __ATOMIC_RELAXED);
}

bool mgds_reads_take(struct mgds_reads *reads, struct mgds_read_args *args,
                     struct mgds_read *const *read)
{
    unsigned row[MGDS_READS_MOST], count = (unsigned)args->count;
    uint64_t now = mgds_clock_ns();

    if (!take_rows(reads, row, count))
        return false;
    for (unsigned i = 0; i < count; i++) {
        clear_claim(&reads->claims[row[i]]);
        args->item[i].claim = (uintptr_t)&reads->claims[row[i]];
        *read[i] = (struct mgds_read){
            .reads = reads, .row = row[i], .taken = now, .asked = now};
    }
    return true;
}

/* A driver that refuses a launch may have made it for all that, and say what an
 * earlier one did: a block that comes finds `off`. The last word gives the row
 * away. */
static void refuse_item(const struct mgds_read_item *item)
{
    struct mgds_read_claim *claim =
        (struct mgds_read_claim *)(uintptr_t)item->claim;

    __atomic_store_n(&claim->off, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&claim->state, MGDS_READ_LEFT, __ATOMIC_RELEASE);
}

void mgds_reads_launch(struct mgds_reads *reads,
                       const struct mgds_read_args *args)
{
    if (launch_items(reads, args) == 0)
        return;
    for (uint64_t i = 0; i < args->count; i++)
        refuse_item(&args->item[i]);
}

/* Polls. */

/* The launch that is tried after a second counts as the second one. */
static void count_late_locked(struct mgds_reads *reads, unsigned row)
{
    uint64_t number = reads->row[row].launch;

    if (number == reads->last_late)
        return;
    reads->last_late = number;
    if (++reads->late < ENOUGH_LATE)
        return;
    reads->late = ENOUGH_LATE - 1;
    __atomic_store_n(&reads->rest, mgds_clock_ns() + REST_NS, __ATOMIC_RELAXED);
}

/* The other end is mgds_read_ask, which has a fence. Sequentially consistent:
 * where the load does not see the block's store, the block's load sees `off`.
 * True: so it is, and the block copies nothing. */
static bool say_off(struct mgds_read *read)
{
    struct mgds_read_claim *claim = &read->reads->claims[read->row];

    read->off = true;
    __atomic_store_n(&claim->off, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&claim->state, __ATOMIC_SEQ_CST) == 0;
}

static int end_read(struct mgds_read *read, int rc)
{
    read->reads = NULL;
    return rc;
}

static int end_done(struct mgds_read *read, uint64_t state)
{
    struct mgds_reads *reads = read->reads;

    __atomic_store_n(&reads->life, mgds_clock_ns(), __ATOMIC_RELAXED);
    mgds_lock_acquire(&reads->lock);
    if (state == MGDS_READ_DONE)
        reads->late = 0;
    free_locked(reads, read->row);
    mgds_lock_release(&reads->lock);
    return end_read(read, state == MGDS_READ_DONE ? 1 : -EAGAIN);
}

static int end_lost(struct mgds_read *read, int rc)
{
    struct mgds_reads *reads = read->reads;

    mgds_lock_acquire(&reads->lock);
    lose_row_locked(reads, read->row);
    if (rc == -EAGAIN)
        count_late_locked(reads, read->row);
    mgds_lock_release(&reads->lock);
    return end_read(read, rc);
}

/* Whether a block of ours copies now, or has ended since somebody last asked:
 * those behind it come after its end. */
static bool shows_life_locked(struct mgds_reads *reads)
{
    uint64_t over = 0, fresh;
    bool here = false;

    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t state = reads->row[i].state == FREE ? 0 : state_of(reads, i);

        here = here || state == MGDS_READ_HERE;
        over |= (uint64_t)is_last_word(state) << i;
    }
    fresh = over & ~reads->over;
    reads->over = over;
    return here || fresh != 0;
}

static bool shows_life(struct mgds_reads *reads)
{
    bool life;

    mgds_lock_acquire(&reads->lock);
    life = shows_life_locked(reads);
    mgds_lock_release(&reads->lock);
    return life;
}

static bool is_late(const struct mgds_read *read, uint64_t now)
{
    struct mgds_reads *reads = read->reads;
    uint64_t life = __atomic_load_n(&reads->life, __ATOMIC_RELAXED);

    if (life < read->taken)
        life = read->taken;
    if (now < life + MGDS_READS_COME_NS)
        return false;
    if (!shows_life(reads))
        return true;
    __atomic_store_n(&reads->life, now, __ATOMIC_RELAXED);
    return false;
}

/* Whether the context has broken, now and then: no other error ends a read. */
static int ask_context(struct mgds_read *read, uint64_t now)
{
    int rc;

    if (now - read->asked < ASK_NS)
        return 0;
    read->asked = now;
    if (!mgds_context_lives(read->reads->ctx))
        return -ESHUTDOWN;
    mgds_capture_ignore();
    rc = mgds_stream_query(read->reads->stream);
    mgds_capture_heed();
    return mgds_context_broke(rc) ? rc : 0;
}

/* The block has not said its last word. */
static int wait_on(struct mgds_read *read, uint64_t state)
{
    uint64_t now = mgds_clock_ns();
    int rc;

    if (state == 0 && !read->off && is_late(read, now) && say_off(read))
        return end_lost(read, -EAGAIN);
    rc = ask_context(read, now);
    return rc < 0 ? end_lost(read, rc) : 0;
}

int mgds_read_poll(struct mgds_read *read)
{
    uint64_t state = state_of(read->reads, read->row);

    return is_last_word(state) ? end_done(read, state) : wait_on(read, state);
}
