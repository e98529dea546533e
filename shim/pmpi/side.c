/* One buffer of a call on its way down. */
#include "shim/pmpi/side.h"

#include <stddef.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/buffer.h"
#include "shim/pmpi/staged.h"
#include "shim/pmpi/types.h"

/* A copy that takes longer than a look at the network does. */
#define LONG_BYTES ((size_t)64 << 10)

/* While one message is copied, those before it go on below. */
static void (*idle_of(const struct mgds_bounce *bounce))(void)
{
    bool others = mgds_staged_any();

    return others && mgds_bounce_bytes(bounce) >= LONG_BYTES
               ? mgds_below_progress
               : NULL;
}

struct mgds_side mgds_side_passing(const void *addr, MPI_Count count,
                                   MPI_Datatype type)
{
    return (struct mgds_side){NULL, (void *)addr, count, type};
}

/* As bytes nobody below would see that the datatype was not committed: the
 * call goes down as it came, and is refused. */
static int stage(struct mgds_side *side, const struct mgds_buffer *buffer)
{
    bool dense = mgds_layout_is_dense(buffer->layout);
    struct mgds_bounce *bounce;
    int rc;

    if (!dense && !mgds_type_committed(side->type))
        return 0;
    rc = mgds_bounce_create(&bounce, buffer, MGDS_BOUNCE_PACKED);
    if (rc < 0)
        return rc;
    side->bounce = bounce;
    side->addr = mgds_bounce_base(bounce);
    if (!dense) {
        side->count = (MPI_Count)mgds_bounce_bytes(bounce);
        side->type = MPI_BYTE;
    }
    return 1;
}

int mgds_side_init(struct mgds_side *side, const void *addr, MPI_Count count,
                   MPI_Datatype type)
{
    struct mgds_buffer buffer;
    int rc = mgds_buffer_look(&buffer, addr, count, type);

    *side = mgds_side_passing(addr, count, type);
    if (rc <= 0)
        return rc;
    rc = stage(side, &buffer);
    mgds_buffer_put(&buffer);
    return rc;
}

void mgds_side_fini(struct mgds_side *side)
{
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

int mgds_side_land(struct mgds_side *side, const MPI_Status *status)
{
    if (!side->bounce)
        return 0;
    return mgds_bounce_up(side->bounce, 0, (size_t)mgds_below_bytes(status));
}

int mgds_side_poll(struct mgds_side *side)
{
    return side->bounce ? mgds_bounce_poll(side->bounce) : 1;
}

int mgds_side_up(struct mgds_side *side, const MPI_Status *status, int rc)
{
    if (!side->bounce || !mgds_below_has_data(rc))
        return 0;
    rc = mgds_bounce_up(side->bounce, 0, (size_t)mgds_below_bytes(status));
    return rc < 0 ? rc : mgds_bounce_wait(side->bounce, NULL);
}
