/* Memory of the GPU that is run by hand: words, bounces, pieces, rings, and
 * allocations of the program's; see hand_gpu.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/mem/import.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/mem/stock.h"
#include "tests/engine/hand_state.h"

enum { LINE = MGDS_WORDS_LINE * sizeof(uint64_t) };

/* What is out, each by its kind; atomic. */
static unsigned lines, bounces, pieces, rings, views, imports;
static int import_error;
static unsigned scarce;

/* Fragments: few, and short, so that messages have more parts than there are
 * fragments. */
enum { FRAGMENT = 4096, FRAGMENTS = 1 };
static struct mgds_stock stocks[HAND_GPUS][2];

struct mgds_ring {
    struct mgds_context *context;
    uint32_t units;
    char *memory;
};

struct mgds_ring_view {
    struct mgds_ring_view *next; /* of those that are to be closed */
    char *memory;
    void (*closed)(void *arg);
    void *arg;
};

static pthread_mutex_t view_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mgds_ring_view *closing; /* under the lock */

struct mgds_import {
    char *addr;
};

static void add(unsigned *count, int by)
{
    __atomic_fetch_add(count, (unsigned)by, __ATOMIC_RELAXED);
}

static void *memory_of(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 256) / 256 * 256);

    if (!memory)
        abort();
    return memory;
}

void hand_memory_open(void)
{
    lines = bounces = pieces = rings = views = imports = 0;
    import_error = 0;
    scarce = 0;
    for (unsigned i = 0; i < HAND_GPUS; i++)
        for (unsigned out = 0; out < 2; out++) {
            stocks[i][out] = (struct mgds_stock){.bytes = 0};
            mgds_stock_fill(&stocks[i][out], NULL, FRAGMENT, FRAGMENTS);
        }
}

static void close_stock(struct mgds_stock *stock)
{
    if (stock->idles != stock->count)
        hand_fault("a fragment was not given back");
    for (unsigned held = 0; held <= stock->count; held++)
        if (!TAILQ_EMPTY(&stock->waiting[held]))
            hand_fault("somebody waits for a fragment");
    mgds_stock_empty(stock, NULL);
}

static void expect_none(unsigned count, const char *what)
{
    if (count > 0)
        hand_fault("%u %s were not given back", count, what);
}

static void close_views(void)
{
    while (closing) {
        struct mgds_ring_view *view = closing;

        closing = view->next;
        if (view->closed)
            view->closed(view->arg);
        free(view);
    }
}

void hand_memory_close(void)
{
    close_views();
    for (unsigned i = 0; i < HAND_GPUS; i++)
        for (unsigned out = 0; out < 2; out++)
            close_stock(&stocks[i][out]);
    expect_none(lines, "lines of words");
    expect_none(bounces, "bounces");
    expect_none(pieces, "pieces of pinned memory");
    expect_none(rings, "rings");
    expect_none(views, "views of rings");
    expect_none(imports, "imports");
}

void hand_import_fails(int error)
{
    import_error = error;
}

void hand_pinned_is_short(unsigned of)
{
    scarce = of;
}

/* Copies to buffers of the program's. */

enum { COPIES = 16 };

static struct copied {
    const void *to;
    unsigned count; /* atomic */
} copied[COPIES];

void hand_count_copy(const void *to, size_t bytes)
{
    for (unsigned i = 0; bytes > 0 && i < COPIES; i++) {
        const void *none = NULL;

        if (__atomic_compare_exchange_n(&copied[i].to, &none, to, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            none == to) {
            __atomic_fetch_add(&copied[i].count, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

unsigned hand_copies_to(const void *addr)
{
    for (unsigned i = 0; i < COPIES; i++)
        if (__atomic_load_n(&copied[i].to, __ATOMIC_RELAXED) == addr)
            return __atomic_load_n(&copied[i].count, __ATOMIC_RELAXED);
    return 0;
}

void hand_forget_copies(void)
{
    memset(copied, 0, sizeof(copied));
}

void hand_copy(void *to, const void *from, size_t bytes)
{
    hand_count_copy(to, bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
}

/* Words. */

int mgds_syncwords_take(uint64_t **line, struct mgds_syncwords *words)
{
    (void)words;
    *line = (uint64_t *)memory_of(LINE);
    memset(*line, 0, LINE);
    add(&lines, 1);
    return 0;
}

uint64_t *mgds_syncwords_take_idle(struct mgds_syncwords *words)
{
    uint64_t *line = NULL;

    if (!hand_troubles.wordless)
        mgds_syncwords_take(&line, words);
    return line;
}

void mgds_syncwords_give(struct mgds_syncwords *words, uint64_t *line)
{
    (void)words;
    if (hand_names(line, LINE))
        hand_fault("a line of words was given back ahead of a command that "
                   "names it");
    add(&lines, -1);
    free(line);
}

/* Pinned memory. */

static struct mgds_piece *make_piece(size_t bytes)
{
    struct mgds_piece *piece = (struct mgds_piece *)malloc(sizeof(*piece));

    if (!piece)
        abort();
    *piece = (struct mgds_piece){
        .addr = memory_of(bytes), .bytes = bytes, .pinned = true};
    add(&pieces, 1);
    return piece;
}

static void end_piece(struct mgds_piece *piece)
{
    if (!piece)
        return;
    if (hand_names(piece->addr, piece->bytes))
        hand_fault("pinned memory was given back ahead of a command that names "
                   "it");
    add(&pieces, -1);
    free(piece->addr);
    free(piece);
}

int mgds_pool_take(struct mgds_piece **out, struct mgds_pool *pool,
                   size_t bytes, enum mgds_pool_use use)
{
    (void)pool;
    (void)use;
    *out = make_piece(bytes);
    return 0;
}

void mgds_pool_give(struct mgds_pool *pool, struct mgds_piece *piece)
{
    (void)pool;
    end_piece(piece);
}

/* Others have the fragment from here on. */
void __real_mgds_stock_give(struct mgds_stock *stock,
                            struct mgds_stock_waiter *waiter,
                            struct mgds_piece *fragment);
void __wrap_mgds_stock_give(struct mgds_stock *stock,
                            struct mgds_stock_waiter *waiter,
                            struct mgds_piece *fragment);
void __wrap_mgds_stock_give(struct mgds_stock *stock,
                            struct mgds_stock_waiter *waiter,
                            struct mgds_piece *fragment)
{
    if (hand_names(fragment->addr, fragment->bytes))
        hand_fault("a fragment was given back ahead of a command that names "
                   "it");
    __real_mgds_stock_give(stock, waiter, fragment);
}

struct mgds_stock *mgds_gstream_stock(struct mgds_gstream *stream, bool out)
{
    return &stocks[stream->context->device][out];
}

bool mgds_pools_short(void)
{
    return false;
}

/* Bounces. */

static struct mgds_bounce *make_bounce(const struct mgds_buffer *user)
{
    struct mgds_bounce *bounce =
        (struct mgds_bounce *)calloc(1, sizeof(*bounce));

    if (!bounce)
        abort();
    bounce->user = *user;
    mgds_layout_get(user->layout);
    bounce->bytes = user->layout->size * user->count;
    bounce->ours = &hand_queues[HAND_STREAMS + user->ptr.device];
    bounce->refs = 1;
    add(&bounces, 1);
    return bounce;
}

int mgds_bounce_create(struct mgds_bounce **out, const struct mgds_buffer *user,
                       enum mgds_bounce_form form)
{
    if (form == MGDS_BOUNCE_STREAM && scarce & HAND_SCARCE_STREAM)
        return -ENOMEM;
    *out = make_bounce(user);
    if (form != MGDS_BOUNCE_LATER || !scarce)
        (*out)->piece = make_piece((*out)->bytes);
    return 0;
}

int mgds_gstream_bounce(struct mgds_bounce **out, struct mgds_gstream *stream,
                        const struct mgds_buffer *buffer)
{
    (void)stream;
    return mgds_bounce_create(out, buffer, MGDS_BOUNCE_STREAM);
}

int mgds_gstream_adopt(struct mgds_gstream *stream,
                       const struct mgds_bounce *bounce)
{
    (void)stream;
    (void)bounce;
    return 0;
}

bool mgds_bounce_needs_room(const struct mgds_bounce *bounce)
{
    return !bounce->piece && bounce->bytes > 0;
}

void mgds_bounce_drop_room(struct mgds_bounce *bounce)
{
    end_piece(bounce->piece);
    bounce->piece = NULL;
}

void *mgds_bounce_base(const struct mgds_bounce *bounce)
{
    return bounce->piece ? bounce->piece->addr : NULL;
}

/* A copy up has one, too: it may outlive the bounce. */
void hand_bounce_put(struct mgds_bounce *bounce)
{
    if (__atomic_sub_fetch(&bounce->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    mgds_bounce_drop_room(bounce);
    mgds_layout_put(bounce->user.layout);
    add(&bounces, -1);
    free(bounce);
}

void mgds_bounce_destroy(struct mgds_bounce *bounce)
{
    if (!bounce)
        return;
    if (hand_names(bounce, sizeof(*bounce)))
        hand_fault("a bounce went ahead of a command that names it");
    hand_bounce_put(bounce);
}

bool mgds_bounce_is_pooled(const struct mgds_bounce *bounce)
{
    (void)bounce;
    return false;
}

/* No program frees what it has given to a call. */
int mgds_bounce_check(const struct mgds_bounce *bounce)
{
    (void)bounce;
    return 0;
}

int mgds_bounce_down(struct mgds_bounce *bounce, size_t first, size_t bytes)
{
    (void)first;
    (void)bytes;
    hand_pack(bounce);
    return 0;
}

int mgds_bounce_up(struct mgds_bounce *bounce, size_t first, size_t bytes)
{
    const struct hand_command up = {
        .kind = HAND_UP, .step = {.bounce = bounce}, .bytes = bytes};

    (void)first;
    __atomic_fetch_add(&bounce->refs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&bounce->under_way, 1, __ATOMIC_RELAXED);
    hand_put(bounce->ours, &up);
    return 0;
}

int mgds_bounce_poll(struct mgds_bounce *bounce)
{
    return __atomic_load_n(&bounce->under_way, __ATOMIC_ACQUIRE) == 0;
}

/* Only for a copy down, which is made at once, and one up that is over. */
int mgds_bounce_wait(struct mgds_bounce *bounce, void (*idle)(void))
{
    (void)idle;
    if (mgds_bounce_poll(bounce) == 0)
        hand_fault("a call waits for a copy up, which no test lets it do");
    return 0;
}

struct row {
    char *user, *row;
    size_t from; /* of the row: what was walked before */
    bool up;
};

static int visit(void *arg, const struct mgds_span *span, size_t packed)
{
    const struct row *row = (const struct row *)arg;
    char *at = row->row + row->from + packed;

    for (size_t plane = 0; plane < span->planes; plane++)
        for (size_t i = 0; i < span->rows; i++, at += span->width) {
            char *user = row->user + span->offset +
                         (ptrdiff_t)plane * span->slice +
                         (ptrdiff_t)i * span->pitch;

            memcpy(row->up ? user : at, row->up ? at : user, span->width);
        }
    return 0;
}

static void walk(const struct mgds_bounce *bounce, size_t bytes, bool up)
{
    const struct mgds_layout *layout = bounce->user.layout;
    struct row row = {(char *)bounce->user.addr,
                      (char *)mgds_bounce_base(bounce), 0, up};

    if (mgds_layout_is_dense(layout) && row.user && row.row) {
        memcpy(up ? row.user : row.row, up ? row.row : row.user, bytes);
        return;
    }
    for (size_t i = 0; i < bounce->user.count && row.from < bytes; i++) {
        size_t left = bytes - row.from;

        mgds_layout_walk(layout, 0, left < layout->size ? left : layout->size,
                         visit, &row);
        row.user += layout->extent;
        row.from += layout->size;
    }
}

void hand_pack(const struct mgds_bounce *bounce)
{
    walk(bounce, bounce->bytes, false);
}

void hand_unpack(const struct mgds_bounce *bounce, size_t bytes)
{
    hand_count_copy(bounce->user.addr, bytes);
    walk(bounce, bytes, true);
}

/* Rings. */

int mgds_gpu_identify(struct mgds_gpu_id *out, const struct mgds_context *ctx)
{
    *out = (struct mgds_gpu_id){{(unsigned char)(1 + ctx->device)}};
    return 0;
}

bool mgds_gpu_is_far(const struct mgds_context *ctx,
                     const struct mgds_gpu_id *id)
{
    (void)ctx;
    (void)id;
    return false;
}

int mgds_ring_create(struct mgds_ring **out, struct mgds_context *ctx,
                     uint32_t units)
{
    struct mgds_ring *ring = (struct mgds_ring *)malloc(sizeof(*ring));
    size_t bytes = (size_t)units * sizeof(struct mgds_unit);

    if (!ring)
        abort();
    *ring = (struct mgds_ring){ctx, units, (char *)memory_of(bytes)};
    memset(ring->memory, 0, bytes);
    add(&rings, 1);
    *out = ring;
    return 0;
}

void mgds_ring_destroy(struct mgds_ring *ring)
{
    if (!ring)
        return;
    add(&rings, -1);
    free(ring->memory);
    free(ring);
}

void mgds_ring_tell(const struct mgds_ring *ring, struct mgds_ring_handle *out)
{
    *out = (struct mgds_ring_handle){.address = (uintptr_t)ring->memory,
                                     .context = ring->context->id,
                                     .units = ring->units};
}

uint64_t mgds_ring_address(const struct mgds_ring *ring)
{
    return (uintptr_t)ring->memory;
}

uint64_t mgds_ring_place(const struct mgds_ring *ring, uint32_t units,
                         size_t count)
{
    if (units >= ring->units || count > ring->units - units)
        return 0;
    return mgds_ring_address(ring) + (uint64_t)units * sizeof(struct mgds_unit);
}

uint64_t mgds_rings_bytes(void)
{
    return 0;
}

int mgds_ring_view_create(struct mgds_ring_view **out, struct mgds_context *ctx,
                          const struct mgds_ring_handle *handle, bool own)
{
    struct mgds_ring_view *view;

    if (own && handle->context != ctx->id)
        return -EXDEV;
    view = (struct mgds_ring_view *)malloc(sizeof(*view));
    if (!view)
        abort();
    *view =
        (struct mgds_ring_view){.memory = (char *)(uintptr_t)handle->address};
    add(&views, 1);
    *out = view;
    return 0;
}

char *mgds_ring_view_address(const struct mgds_ring_view *view)
{
    return view->memory;
}

/* The only safe point is the end. */
void mgds_ring_view_destroy(struct mgds_ring_view *view,
                            void (*closed)(void *arg), void *arg)
{
    if (!view)
        return;
    add(&views, -1);
    view->closed = closed;
    view->arg = arg;
    pthread_mutex_lock(&view_lock);
    view->next = closing;
    closing = view;
    pthread_mutex_unlock(&view_lock);
}

/* The program's allocations: one address everywhere. */

int mgds_export_of(struct mgds_export_handle *out, const struct mgds_ptr *ptr)
{
    *out = (struct mgds_export_handle){
        .id = ptr->id, .base = ptr->base, .size = ptr->size};
    return 0;
}

bool mgds_export_is_stale(uint64_t id)
{
    (void)id;
    return false;
}

uint64_t mgds_exports_stale(void)
{
    return 0;
}

void mgds_exports_fini(void)
{
}

int mgds_import_create(struct mgds_import **out, struct mgds_context *ctx,
                       const struct mgds_export_handle *handle)
{
    (void)ctx;
    if (import_error)
        return import_error;
    *out = (struct mgds_import *)malloc(sizeof(**out));
    if (!*out)
        abort();
    (*out)->addr = (char *)(uintptr_t)handle->base;
    add(&imports, 1);
    return 0;
}

char *mgds_import_addr(const struct mgds_import *import)
{
    return hand_troubles.unreadable ? NULL : import->addr;
}

void mgds_import_put(struct mgds_import *import)
{
    if (!import)
        return;
    add(&imports, -1);
    free(import);
}

void mgds_imports_fini(void)
{
}
