/* Staged buffers; see bounce.h. */
#include "shim/gds/mem/bounce.h"

#include <errno.h>
#include <stdint.h>

#include "shim/base/spares.h"
#include "shim/base/stats.h"
#include "shim/gds/mem/bounce_state.h"
#include "shim/gds/mem/table.h"
#include "shim/gds/mem/transfer.h"

enum {
    TABLE_ALIGNMENT = 64,
    UNIT = 16, /* the widest access of the kernel */
};

static struct mgds_spares records =
    MGDS_SPARES_INIT(sizeof(struct mgds_bounce));

/* In a record that is 0. */
static void set_flat(struct mgds_layout *flat, size_t bytes)
{
    flat->size = bytes;
    flat->extent = flat->true_extent = (ptrdiff_t)bytes;
    flat->spans = bytes > 0;
    flat->kind = bytes > 0 ? MGDS_LAYOUT_SPAN : MGDS_LAYOUT_EMPTY;
    flat->span.width = bytes;
    flat->span.rows = flat->span.planes = 1;
}

/* Dense buffers need no layout made for the call. */
static int set_layout(struct mgds_bounce *bounce,
                      const struct mgds_buffer *user)
{
    size_t bytes;

    if (!mgds_layout_is_dense(user->layout))
        return mgds_layout_repeat(&bounce->layout, user->layout, user->count);
    if (__builtin_mul_overflow(user->layout->size, user->count, &bytes) ||
        bytes > PTRDIFF_MAX)
        return -EOVERFLOW;
    set_flat(&bounce->flat, bytes);
    bounce->layout = &bounce->flat;
    return 0;
}

/* Bytes that stand for the data, with room to begin like the user's do. */
static size_t data_bytes(const struct mgds_bounce *bounce)
{
    if (bounce->form != MGDS_BOUNCE_MIRROR)
        return bounce->layout->size;
    return (size_t)bounce->layout->true_extent + UNIT;
}

static char *base_in(const struct mgds_bounce *bounce, char *piece)
{
    uintptr_t like;

    if (bounce->form != MGDS_BOUNCE_MIRROR)
        return piece;
    like = ((uintptr_t)bounce->user + (size_t)bounce->layout->true_lb) % UNIT;
    return mgds_offset_from(piece + like, -bounce->layout->true_lb);
}

static void put_table(struct mgds_bounce *bounce, size_t at,
                      const struct mgds_table *table,
                      const struct mgds_buffer *user)
{
    struct mgds_pack_node *node =
        (struct mgds_pack_node *)(void *)((char *)bounce->piece->addr + at);

    mgds_table_write(node, table, user->layout, user->count);
    bounce->table = node;
    bounce->nodes = table->nodes + 1;
    bounce->grain = table->grain;
    if (user->count > 1)
        bounce->grain |= user->layout->size | (size_t)user->layout->extent;
}

static bool needs_table(const struct mgds_bounce *bounce)
{
    return bounce->way == MGDS_WAY_KERNEL ||
           (bounce->form == MGDS_BOUNCE_STREAM &&
            bounce->layout != &bounce->flat);
}

/* The table lies behind the data: one piece, and nothing to look up later. */
static int set_memory(struct mgds_bounce *bounce,
                      const struct mgds_buffer *user)
{
    const struct mgds_table *table = NULL;
    size_t at = data_bytes(bounce), bytes = at;
    int rc = 0;

    bounce->way = mgds_transfer_way(bounce, true);
    if (needs_table(bounce)) {
        rc = mgds_table_of(&table, user->layout);
        if (rc < 0)
            return rc;
        at = (at + TABLE_ALIGNMENT - 1) / TABLE_ALIGNMENT * TABLE_ALIGNMENT;
        bytes = at + (table->nodes + 1) * sizeof(table->node[0]);
    }
    rc = mgds_copyqueue_take(
        &bounce->piece, bounce->queue, bytes,
        bounce->form == MGDS_BOUNCE_STREAM ? MGDS_POOL_HELD : MGDS_POOL_ANY);
    if (rc < 0)
        return rc;
    bounce->base = base_in(bounce, (char *)bounce->piece->addr);
    if (!bounce->piece->pinned)
        bounce->way = mgds_transfer_way(bounce, false);
    if (table && bounce->piece->pinned)
        put_table(bounce, at, table, user);
    return 0;
}

static void set_piece(struct mgds_bounce *bounce, struct mgds_piece *piece)
{
    bounce->piece = piece;
    bounce->base = (char *)piece->addr;
}

void mgds_bounce_drop_room(struct mgds_bounce *bounce)
{
    if (bounce->piece)
        mgds_pool_give(bounce->queue->pool, bounce->piece);
    bounce->piece = NULL;
    bounce->base = (char *)&bounce->flat;
}

static int fill_bounce(struct mgds_bounce *bounce,
                       const struct mgds_buffer *user,
                       enum mgds_bounce_form form)
{
    struct mgds_piece *piece;
    int rc;

    bounce->user = (char *)user->addr;
    bounce->base = (char *)&bounce->flat;
    bounce->ptr = user->ptr;
    bounce->form = form;
    rc = set_layout(bounce, user);
    if (rc < 0 || bounce->layout->size == 0)
        return rc;
    if (form != MGDS_BOUNCE_LATER && form != MGDS_BOUNCE_BARE)
        return set_memory(bounce, user);
    bounce->form = MGDS_BOUNCE_STREAM;
    bounce->way = mgds_transfer_way(bounce, true);
    if (form == MGDS_BOUNCE_LATER &&
        mgds_copyqueue_take(&piece, bounce->queue, bounce->layout->size,
                            MGDS_POOL_SPARE) == 0)
        set_piece(bounce, piece);
    return 0;
}

bool mgds_bounce_needs_room(const struct mgds_bounce *bounce)
{
    return !bounce->piece && bounce->layout->size > 0;
}

int mgds_bounce_create(struct mgds_bounce **out, const struct mgds_buffer *user,
                       enum mgds_bounce_form form)
{
    struct mgds_bounce *bounce;
    struct mgds_copyqueue *queue;
    int rc = mgds_copyqueue_of_ptr(&queue, &user->ptr);

    if (rc < 0)
        return rc;
    bounce = (struct mgds_bounce *)mgds_spares_take(&records);
    if (!bounce) {
        mgds_copyqueue_put(queue);
        return -ENOMEM;
    }
    bounce->queue = queue;
    rc = fill_bounce(bounce, user, form);
    if (rc < 0)
        mgds_bounce_destroy(bounce);
    else
        *out = bounce;
    return rc;
}

/* The copies that are under way need the piece alone. */
void mgds_bounce_destroy(struct mgds_bounce *bounce)
{
    if (!bounce)
        return;
    if (bounce->piece)
        mgds_copyqueue_give(bounce->queue, bounce->piece, &bounce->ticket);
    if (bounce->layout != &bounce->flat)
        mgds_layout_put(bounce->layout);
    mgds_copyqueue_put(bounce->queue);
    mgds_spares_give(&records, bounce);
}

void *mgds_bounce_base(const struct mgds_bounce *bounce)
{
    return bounce->base;
}

size_t mgds_bounce_bytes(const struct mgds_bounce *bounce)
{
    return bounce->layout->size;
}

bool mgds_bounce_tears(const struct mgds_bounce *bounce, size_t bytes)
{
    return bounce->form == MGDS_BOUNCE_PACKED &&
           mgds_layout_tears(bounce->layout, bytes);
}

/* The address by which memory is looked at again: of the data, as far as it
 * lies in the allocation that the buffer was looked at in. */
static char *address_of(const struct mgds_bounce *bounce)
{
    const struct mgds_ptr *ptr = &bounce->ptr;
    uintptr_t at = (uintptr_t)bounce->user + (size_t)bounce->layout->true_lb;

    if (at < ptr->base || at - ptr->base >= ptr->size)
        at = ptr->base;
    return (char *)at;
}

/* Mostly nothing has changed. Chunks mapped side by side have ids of their own,
 * and then nothing can be said of them. */
int mgds_bounce_check(const struct mgds_bounce *bounce)
{
    const char *at = address_of(bounce);
    struct mgds_ptr now;
    int rc;

    if (mgds_ptr_lives(&bounce->ptr, at))
        return 0;
    rc = mgds_ptr_find(&now, at, 1);
    if (rc < 0)
        return rc;
    if (now.kind != bounce->ptr.kind ||
        (now.kind != MGDS_PTR_VMM && now.id != bounce->ptr.id))
        return -EFAULT;
    return 0;
}

bool mgds_bounce_is_pooled(const struct mgds_bounce *bounce)
{
    return bounce->ptr.kind == MGDS_PTR_POOL;
}

/* Looks at the memory again, also before the first copy: a persistent request
 * is started in a later call than it was made in. */
static int queue_copy(struct mgds_bounce *bounce, bool up, size_t first,
                      size_t bytes)
{
    bool queued = false;
    int rc = mgds_copyqueue_enter(bounce->queue);

    if (rc < 0)
        return rc;
    rc = mgds_bounce_check(bounce);
    if (rc == 0)
        rc = mgds_transfer_queue(bounce, up, first, bytes, &queued);
    mgds_copyqueue_leave(bounce->queue, queued ? &bounce->ticket : NULL);
    return rc;
}

/* How many of the bytes there are. */
static size_t cut_bytes(const struct mgds_bounce *bounce, size_t first,
                        size_t bytes)
{
    size_t size = bounce->layout->size;

    if (first >= size)
        return 0;
    return bytes < size - first ? bytes : size - first;
}

int mgds_bounce_down(struct mgds_bounce *bounce, size_t first, size_t bytes)
{
    int rc;

    bytes = cut_bytes(bounce, first, bytes);
    if (bytes == 0)
        return 0;
    rc = queue_copy(bounce, false, first, bytes);
    if (rc == 0)
        mgds_stats_add(MGDS_STAT_stage_bytes_down, bytes);
    return rc;
}

int mgds_bounce_up(struct mgds_bounce *bounce, size_t first, size_t bytes)
{
    int rc;

    bytes = cut_bytes(bounce, first, bytes);
    if (bytes == 0)
        return 0;
    rc = queue_copy(bounce, true, first, bytes);
    if (rc == 0)
        mgds_stats_add(MGDS_STAT_stage_bytes_up, bytes);
    return rc;
}

/* The piece of copies that may run in spite of the error is lost. */
static int lose_used_piece(struct mgds_bounce *bounce, int error)
{
    if (mgds_copyqueue_may_run(error))
        bounce->piece = NULL;
    return error;
}

int mgds_bounce_poll(struct mgds_bounce *bounce)
{
    int rc = mgds_copyqueue_poll(bounce->queue, &bounce->ticket);

    return rc < 0 ? lose_used_piece(bounce, rc) : rc;
}

int mgds_bounce_wait(struct mgds_bounce *bounce, void (*idle)(void))
{
    int rc = mgds_copyqueue_wait(bounce->queue, &bounce->ticket, idle);

    return rc < 0 ? lose_used_piece(bounce, rc) : 0;
}
