/* Events of the driver; see event.h for who may call what. */
#include "shim/gds/cuda/event.h"

#include <errno.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

static int init_event(struct mgds_event *event, struct mgds_context *ctx,
                      unsigned flags)
{
    CUevent handle;
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return rc;
    rc = mgds_cu(mgds_driver()->cuEventCreate(&handle, flags));
    mgds_context_leave();
    if (rc < 0)
        return rc;
    *event = (struct mgds_event){handle, mgds_context_get(ctx)};
    return 0;
}

int mgds_event_init(struct mgds_event *event, struct mgds_context *ctx)
{
    return init_event(event, ctx,
                      CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
}

int mgds_event_init_asked(struct mgds_event *event, struct mgds_context *ctx)
{
    return init_event(event, ctx, CU_EVENT_DISABLE_TIMING);
}

/* A context takes its events with it. */
void mgds_event_fini(struct mgds_event *event)
{
    if (mgds_context_lives(event->ctx))
        mgds_cu(mgds_driver()->cuEventDestroy(event->handle));
    mgds_context_put(event->ctx);
}

int mgds_event_record(struct mgds_event *event, void *stream)
{
    return mgds_cu(mgds_driver()->cuEventRecord(event->handle, stream));
}

int mgds_event_hold(const struct mgds_event *event, void *stream)
{
    const struct mgds_driver *driver = mgds_driver();

    if (!driver->cuStreamWaitEvent)
        return -ENOTSUP;
    return mgds_cu(driver->cuStreamWaitEvent(stream, event->handle, 0));
}

int mgds_event_query(struct mgds_event *event)
{
    int rc = mgds_cu(mgds_driver()->cuEventQuery(event->handle));

    if (rc == -EAGAIN)
        return 0;
    return rc < 0 ? rc : 1;
}

int mgds_event_synchronize(struct mgds_event *event)
{
    return mgds_cu(mgds_driver()->cuEventSynchronize(event->handle));
}
