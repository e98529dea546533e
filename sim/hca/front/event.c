/* Events of CQs and QPs. */
#include "sim/hca/front/event.h"

#include <infiniband/verbs.h>

#include "shim/base/log.h"
#include "sim/hca/front/channel.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/object.h"

static const uint32_t verbs_event[] = {
    [MGDS_EVENT_CQ_ERR] = IBV_EVENT_CQ_ERR,
    [MGDS_EVENT_QP_FATAL] = IBV_EVENT_QP_FATAL,
    [MGDS_EVENT_QP_REQ_ERR] = IBV_EVENT_QP_REQ_ERR,
    [MGDS_EVENT_QP_ACCESS_ERR] = IBV_EVENT_QP_ACCESS_ERR,
    [MGDS_EVENT_SQ_DRAINED] = IBV_EVENT_SQ_DRAINED,
    [MGDS_EVENT_SRQ_LIMIT] = IBV_EVENT_SRQ_LIMIT_REACHED,
    [MGDS_EVENT_PORT_ERR] = IBV_EVENT_PORT_ERR,
    [MGDS_EVENT_PORT_ACTIVE] = IBV_EVENT_PORT_ACTIVE,
    [MGDS_EVENT_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
};

/* The counter says how many acknowledgements destroying the object waits
 * for. */
static void send(const struct mgds_hca_channel *channel, const void *record,
                 uint32_t *counter)
{
    if (mgds_hca_channel_send(channel, record))
        (*counter)++;
    else
        mgds_warn_once("software HCA: an event was lost: the program has left "
                       "thousands of them unread");
}

void mgds_hca_event_completion(struct mgds_hca_verbs_cq *cq)
{
    struct ib_uverbs_comp_event_desc record = {.cq_handle = cq->user};

    if (cq->channel)
        send(cq->channel, &record, &cq->completions);
}

static void send_async(const struct mgds_hca_channel *channel, uint64_t user,
                       enum mgds_hca_event event, uint32_t *counter)
{
    struct ib_uverbs_async_event_desc record = {
        .element = user, .event_type = verbs_event[event]};

    send(channel, &record, counter);
}

static void tell_port(const struct mgds_hca_file *file, uint32_t port,
                      enum mgds_hca_event event)
{
    uint32_t unused = 0;

    send_async(&file->async, port, event, &unused);
    for (const struct mgds_hca_channel *it = file->channels; it;
         it = it->next) {
        if (it->record == file->async.record)
            send_async(it, port, event, &unused);
    }
}

void mgds_hca_event_port(unsigned device, uint32_t port,
                         enum mgds_hca_event event)
{
    for (struct mgds_hca_file *file = mgds_hca_file_next(NULL); file;
         file = mgds_hca_file_next(file)) {
        if (file->device == device && file->adapter)
            tell_port(file, port, event);
    }
}

void mgds_hca_event_cq(struct mgds_hca_verbs_cq *cq, enum mgds_hca_event event)
{
    send_async(cq->async, cq->user, event, &cq->asyncs);
}

void mgds_hca_event_srq(struct mgds_hca_verbs_srq *srq,
                        enum mgds_hca_event event)
{
    send_async(&srq->file->async, srq->user, event, &srq->asyncs);
}

void mgds_hca_event_qp(struct mgds_hca_verbs_qp *qp, enum mgds_hca_event event)
{
    send_async(qp->async, qp->user, event, &qp->asyncs);
}
