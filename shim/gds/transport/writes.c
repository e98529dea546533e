/* A queue of WRITEs in front of a send queue; see writes.h. */
#include "shim/gds/transport/writes.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/hca/sendq.h"

enum { FIRST_CAPACITY = 64 };

void mgds_writes_init(struct mgds_writes *writes, struct mgds_sendq *queue,
                      struct mgds_wqe_local from, struct mgds_wqe_remote to)
{
    uint32_t first = queue->posted;

    *writes = (struct mgds_writes){.queue = queue,
                                   .from = from,
                                   .to = to,
                                   .done = first,
                                   .heard = first,
                                   .posted = first,
                                   .added = first};
}

void mgds_writes_fini(struct mgds_writes *writes)
{
    free(writes->fifo);
}

static struct mgds_write *write_at(const struct mgds_writes *writes,
                                   uint32_t number)
{
    return &writes->fifo[number & (writes->capacity - 1)];
}

/* Each gets the place that its number has in the longer array. */
static int grow_fifo(struct mgds_writes *writes)
{
    uint32_t capacity =
        writes->capacity ? 2 * writes->capacity : FIRST_CAPACITY;
    struct mgds_write *fifo =
        (struct mgds_write *)mgds_calloc(capacity, sizeof(*fifo));

    if (!fifo)
        return -ENOMEM;
    for (uint32_t i = writes->done; i != writes->added; i++)
        fifo[i & (capacity - 1)] = *write_at(writes, i);
    free(writes->fifo);
    writes->fifo = fifo;
    writes->capacity = capacity;
    return 0;
}

int mgds_writes_add(struct mgds_writes *writes, const struct mgds_write *write)
{
    if (writes->added - writes->done == writes->capacity &&
        grow_fifo(writes) < 0)
        return -ENOMEM;
    *write_at(writes, writes->added) = *write;
    writes->added++;
    return 0;
}

static int post_write(const struct mgds_writes *writes,
                      const struct mgds_write *write)
{
    const struct mgds_wqe_path path = {.qpn = writes->queue->qpn};
    const struct mgds_wqe_remote to = {writes->to.address + write->offset,
                                       writes->to.rkey};
    const struct mgds_wqe_local from = {writes->from.address + write->offset,
                                        write->bytes, writes->from.lkey};
    struct mgds_wqe wqe = mgds_wqe_write(path, MGDS_WQE_CE_ALWAYS, to, from);
    uint32_t index;

    return mgds_sendq_put(writes->queue, &wqe, &index);
}

void mgds_writes_post(struct mgds_writes *writes)
{
    while (writes->posted != writes->added &&
           post_write(writes, write_at(writes, writes->posted)) == 0)
        writes->posted++;
    mgds_sendq_ring(writes->queue);
}

int mgds_writes_poll(struct mgds_writes *writes, uint8_t *syndrome)
{
    struct mgds_completion completion;

    while (mgds_sendq_poll(writes->queue, &completion) == 1) {
        if (completion.state == MGDS_CQE_FAILED) {
            *syndrome = completion.syndrome;
            return -EIO;
        }
        writes->heard = completion.index + 1;
    }
    return 0;
}

bool mgds_writes_take(struct mgds_writes *writes, struct mgds_write *out)
{
    return writes->done != writes->heard && mgds_writes_drop(writes, out);
}

bool mgds_writes_drop(struct mgds_writes *writes, struct mgds_write *out)
{
    if (mgds_writes_are_over(writes))
        return false;
    *out = *write_at(writes, writes->done);
    writes->done++;
    return true;
}

bool mgds_writes_are_over(const struct mgds_writes *writes)
{
    return writes->done == writes->added;
}
