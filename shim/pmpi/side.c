/* One buffer of a call on its way down. */
#include "shim/pmpi/side.h"

#include <errno.h>
#include <stddef.h>

#include "shim/gds/direct/pull.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/types.h"

/* A copy that takes longer than a look at the network does. */
#define LONG_BYTES ((size_t)64 << 10)

/* While one message is copied, those before it go on below. */
static void (*idle_of(const struct mgds_bounce *bounce))(void)
{
    bool others = mgds_requests_any();

    return others && mgds_bounce_bytes(bounce) >= LONG_BYTES
               ? mgds_below_progress
               : NULL;
}

struct mgds_side mgds_side_passing(const void *addr, MPI_Count count,
                                   MPI_Datatype type)
{
    return (struct mgds_side){
        .addr = (void *)addr, .count = count, .type = type};
}

/* No bounce that takes much more memory than there are data. */
static bool is_close(const struct mgds_buffer *buffer)
{
    const struct mgds_layout *layout = buffer->layout;
    enum { MOST_TIMES = 8 };
    ptrdiff_t all, most;

    if (__builtin_mul_overflow((ptrdiff_t)buffer->count - 1, layout->extent,
                               &all) ||
        __builtin_add_overflow(all < 0 ? -all : all, layout->true_extent,
                               &all) ||
        __builtin_mul_overflow(layout->size * MOST_TIMES, buffer->count, &most))
        return false;
    return all <= most;
}

/*
 * Bytes will do, unless a receiver with that datatype, in host memory, gets a
 * long message: MPICH (4.0.2) cuts what is sent as bytes anywhere, and cannot
 * take it apart if basic types of several sizes lie in it; it fails with
 * MPI_ERR_TRUNCATE. What is sent with the datatype is cut between them.
 */
static enum mgds_bounce_form form_of(const struct mgds_buffer *buffer,
                                     MPI_Datatype type, enum mgds_side_way way)
{
    return way == MGDS_SIDE_SEND && mgds_type_is_mixed(type) && is_close(buffer)
               ? MGDS_BOUNCE_MIRROR
               : MGDS_BOUNCE_PACKED;
}

/* The bounce goes down in the place of the buffer. */
static void put_bounce(struct mgds_side *side, const struct mgds_buffer *buffer,
                       struct mgds_bounce *bounce, enum mgds_bounce_form form)
{
    side->bounce = bounce;
    side->addr = mgds_bounce_base(bounce);
    if (form == MGDS_BOUNCE_PACKED && !mgds_layout_is_dense(buffer->layout)) {
        side->count = (MPI_Count)mgds_bounce_bytes(bounce);
        side->type = MPI_BYTE;
    }
}

/* As bytes nobody below would see that the datatype was not committed: the
 * call goes down as it came, and is refused. */
static int stage(struct mgds_side *side, const struct mgds_buffer *buffer,
                 enum mgds_side_way way)
{
    bool dense = mgds_layout_is_dense(buffer->layout);
    enum mgds_bounce_form form = MGDS_BOUNCE_PACKED;
    struct mgds_bounce *bounce;
    int rc;

    if (!dense && !mgds_type_committed(side->type))
        return 0;
    if (!dense)
        form = form_of(buffer, side->type, way);
    rc = mgds_buffer_stage(&bounce, buffer, form);
    if (rc < 0)
        return rc;
    put_bounce(side, buffer, bounce, form);
    return 1;
}

/* The bounce of a receive that may turn out to be a pull. */
static int stage_watched(struct mgds_side *side,
                         const struct mgds_buffer *buffer)
{
    struct mgds_bounce *bounce;
    int rc = mgds_bounce_create(&bounce, buffer, MGDS_BOUNCE_PACKED);

    if (rc == 0)
        put_bounce(side, buffer, bounce, MGDS_BOUNCE_PACKED);
    return rc;
}

static int watch_buffer(struct mgds_side *side,
                        const struct mgds_buffer *buffer, bool apart)
{
    struct mgds_direct_words words = {side->addr, side->count, side->type};
    int rc = mgds_direct_recv_create(&side->direct, buffer, side->bounce,
                                     &words, apart);

    if (rc < 0)
        return rc;
    side->addr = words.addr;
    side->count = words.count;
    side->type = words.type;
    return 1;
}

/* Whether the MPI below refuses it, whatever is in the memory. */
static bool is_refused(const void *addr, MPI_Count count, MPI_Datatype type)
{
    return count < 0 || addr == MPI_IN_PLACE ||
           (!addr && count > 0 && mgds_type_is_basic(type)) ||
           !mgds_type_committed(type);
}

/* MPICH takes no NULL for an address but where a datatype has all of it. */
static bool is_nowhere(const struct mgds_buffer *buffer)
{
    return !buffer->addr && buffer->count > 0 && buffer->layout->size > 0 &&
           buffer->layout->true_lb == 0;
}

/* A message that a probe has kept may be the one, now or by another thread:
 * those that are too short for a header are not posted below then. */
static bool passes_late(const struct mgds_side *side)
{
    size_t size = mgds_type_basic_size(side->type);

    return size != 0 && ((size_t)side->count * size >= MGDS_HEADER_BYTES ||
                         (!mgds_kept_any() && !mgds_direct_is_shared()));
}

/* A receive of an armed rank. The GPU memory that the MPI below would take is
 * staged all the same, for a header has to be looked at. */
static int watch(struct mgds_side *side, enum mgds_side_way way)
{
    struct mgds_buffer buffer;
    int rc;

    if (is_refused(side->addr, side->count, side->type))
        return 0;
    rc = mgds_buffer_find(&buffer, side->addr, side->count, side->type);
    if (rc < 0)
        return rc == -EINVAL ? 0 : rc;
    if (is_nowhere(&buffer)) {
        mgds_buffer_put(&buffer);
        return 0;
    }
    if (rc == 1) {
        mgds_buffer_settle(&buffer);
        rc = stage_watched(side, &buffer);
    } else if (way == MGDS_SIDE_LATE && passes_late(side)) {
        mgds_buffer_put(&buffer);
        return 0;
    }
    if (rc >= 0)
        rc = watch_buffer(side, &buffer, way == MGDS_SIDE_APART);
    mgds_buffer_put(&buffer);
    if (rc < 0)
        mgds_side_fini(side);
    return rc;
}

static bool meets_headers(enum mgds_side_way way)
{
    return way == MGDS_SIDE_RECV || way == MGDS_SIDE_LATE ||
           way == MGDS_SIDE_APART;
}

int mgds_side_init(struct mgds_side *side, const void *addr, MPI_Count count,
                   MPI_Datatype type, enum mgds_side_way way)
{
    struct mgds_buffer buffer;
    int rc;

    *side = mgds_side_passing(addr, count, type);
    if (mgds_direct_armed() && meets_headers(way))
        return watch(side, way);
    rc = mgds_buffer_look(&buffer, addr, count, type);
    if (rc <= 0)
        return rc;
    mgds_direct_arm_by_gpu();
    rc = stage(side, &buffer, way);
    mgds_buffer_put(&buffer);
    return rc;
}

void mgds_side_fini(struct mgds_side *side)
{
    mgds_direct_recv_destroy(side->direct);
    mgds_bounce_destroy(side->bounce);
}

int mgds_side_down(struct mgds_side *side)
{
    int rc;

    if (!side->bounce)
        return 0;
    rc = mgds_bounce_down(side->bounce, 0, SIZE_MAX);
    return rc < 0 ? rc : mgds_bounce_wait(side->bounce, idle_of(side->bounce));
}

/* The MPI below was given bytes, which end anywhere: it is up to us to look. */
static int queue_up(struct mgds_side *side, const MPI_Status *status)
{
    size_t bytes = (size_t)mgds_below_bytes(status);

    if (mgds_bounce_tears(side->bounce, bytes))
        return -EBADMSG;
    return mgds_bounce_up(side->bounce, 0, bytes);
}

int mgds_side_land(struct mgds_side *side, MPI_Status *status)
{
    if (side->direct)
        return mgds_direct_recv_land(side->direct, status);
    mgds_pull_batch_flush();
    return side->bounce ? queue_up(side, status) : 0;
}

int mgds_side_poll(struct mgds_side *side)
{
    if (side->direct)
        return mgds_direct_recv_poll(side->direct);
    return side->bounce ? mgds_bounce_poll(side->bounce) : 1;
}

bool mgds_side_pulls(const struct mgds_side *side)
{
    return side->direct && mgds_direct_recv_pulls(side->direct);
}

int mgds_side_up(struct mgds_side *side, MPI_Status *status, int rc)
{
    if ((!side->bounce && !side->direct) || !mgds_below_has_data(rc))
        return 0;
    rc = mgds_side_land(side, status);
    if (side->direct)
        return mgds_direct_recv_wait(side->direct);
    return rc < 0 ? rc : mgds_bounce_wait(side->bounce, NULL);
}
