/* Events of a device; see news.h. */
#include "shim/gds/hca/news.h"

#include "shim/gds/hca/rail_state.h"

static enum mgds_news_kind kind_of(enum ibv_event_type type)
{
    switch (type) {
    case IBV_EVENT_PORT_ERR:
        return MGDS_NEWS_PORT_DOWN;
    case IBV_EVENT_PORT_ACTIVE:
        return MGDS_NEWS_PORT_UP;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
        return MGDS_NEWS_QUEUE;
    case IBV_EVENT_DEVICE_FATAL:
        return MGDS_NEWS_DEVICE;
    default:
        return MGDS_NEWS_OTHER;
    }
}

/* The rail has one port of a device that may have two. */
static int is_of_port(const struct mgds_rail *rail,
                      const struct ibv_async_event *event)
{
    enum mgds_news_kind kind = kind_of(event->event_type);

    return (kind != MGDS_NEWS_PORT_DOWN && kind != MGDS_NEWS_PORT_UP) ||
           event->element.port_num == rail->port;
}

static struct mgds_news news_of(const struct ibv_async_event *event)
{
    struct mgds_news news = {.kind = kind_of(event->event_type),
                             .event = (int)event->event_type};

    if (news.kind == MGDS_NEWS_QUEUE && event->event_type != IBV_EVENT_CQ_ERR)
        news.qpn = event->element.qp->qp_num;
    return news;
}

/* An event is acknowledged at once, for its queue cannot be destroyed before
 * that; the number is what is left of it. */
int mgds_rail_hear(struct mgds_rail *rail, struct mgds_news *out)
{
    struct ibv_async_event event;
    int found = 0;

    while (!found &&
           rail->verbs->ibv_get_async_event(rail->context, &event) == 0) {
        found = is_of_port(rail, &event);
        if (found)
            *out = news_of(&event);
        rail->verbs->ibv_ack_async_event(&event);
    }
    return found;
}

int mgds_rail_news_fd(const struct mgds_rail *rail)
{
    return rail->context->async_fd;
}
