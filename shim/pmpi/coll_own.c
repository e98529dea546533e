/* A rank's own block; see coll_own.h. */
#include "shim/pmpi/coll_own.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shim/gds/cuda/mem.h"
#include "shim/pmpi/buffer.h"

/* One piece of memory of a buffer. */
struct piece {
    struct mgds_buffer buffer;
    char *addr;
    size_t bytes;
    bool gpu;
};

/* 1: it is one; 0: it is not. */
static int find_piece(struct piece *piece, const struct mgds_inner_buffer *from)
{
    struct mgds_buffer *buffer = &piece->buffer;
    int rc = mgds_buffer_find(buffer, from->addr, from->count, from->type);

    if (rc < 0)
        return rc;
    piece->gpu = rc == 1;
    piece->bytes = buffer->layout->size * buffer->count;
    piece->addr = mgds_buffer_piece(buffer);
    if (piece->gpu)
        mgds_buffer_settle(buffer);
    return piece->addr != NULL;
}

static int queue_copy(struct mgds_coll_own *own, const struct piece *to,
                      const struct piece *from)
{
    const struct mgds_copy copy = {.dst = to->addr,
                                   .src = from->addr,
                                   .width = to->bytes,
                                   .rows = 1,
                                   .planes = 1};
    int rc = mgds_copyqueue_of_ptr(&own->queue, to->gpu ? &to->buffer.ptr
                                                        : &from->buffer.ptr);

    if (rc < 0)
        return rc;
    rc = mgds_copyqueue_copy(own->queue, &copy, &own->ticket);
    if (rc < 0) {
        mgds_copyqueue_put(own->queue);
        own->queue = NULL;
    }
    return rc;
}

static int copy(struct mgds_coll_own *own, const struct piece *to,
                const struct piece *from)
{
    int rc = 0;

    if (to->bytes != from->bytes)
        return 0;
    if (to->gpu || from->gpu)
        rc = queue_copy(own, to, from);
    else
        memmove(to->addr, from->addr, to->bytes);
    return rc < 0 ? rc : 1;
}

/* They find what is wrong with a buffer, if it is. */
static int left_to_messages(int rc)
{
    return rc == -ENOTSUP || rc == -EFAULT || rc == -EINVAL ? 0 : rc;
}

int mgds_coll_own_begin(struct mgds_coll_own *own,
                        const struct mgds_inner_buffer *to,
                        const struct mgds_inner_buffer *from)
{
    struct piece target, source;
    int rc = find_piece(&target, to), found;

    *own = (struct mgds_coll_own){.queue = NULL};
    if (rc < 0)
        return left_to_messages(rc);
    found = find_piece(&source, from);
    if (rc == 1 && found == 1)
        rc = copy(own, &target, &source);
    else
        rc = found < 0 ? left_to_messages(found) : 0;
    if (found >= 0)
        mgds_buffer_put(&source.buffer);
    mgds_buffer_put(&target.buffer);
    return rc;
}

int mgds_coll_own_end(struct mgds_coll_own *own)
{
    int rc;

    if (!own->queue)
        return 0;
    rc = mgds_copyqueue_wait(own->queue, &own->ticket, NULL);
    mgds_copyqueue_put(own->queue);
    own->queue = NULL;
    return rc < 0 ? rc : 0;
}
