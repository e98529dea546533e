/* Frames in: only genuine ones, each once, to the handlers of their kinds; see
 * wire.h and seal.h. */
#include <errno.h>

#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/wire/seal.h"
#include "shim/gds/wire/state.h"

/* WIRE lock. */
static struct mgds_wire_handler handlers[MGDS_WIRE_KINDS];
static struct mgds_senders senders;

/* Counted, and said: once, since who is not of the job shall not fill logs. */
static void say_refusal(int rc)
{
    if (rc == -EALREADY) {
        mgds_count(frames_replayed);
        mgds_warn_once("a message came over the wire for the second time: "
                       "dropped, as all such are (counted in "
                       "frames_replayed): somebody sends again what was "
                       "recorded");
    } else if (rc == -EBADMSG) {
        mgds_count(frames_forged);
        mgds_warn_once("a message that no process of the job made came over "
                       "the wire: dropped, as all such are (counted in "
                       "frames_forged): somebody else reaches this process, "
                       "or the job loads different libmpix_gds.so");
    } else {
        mgds_warn("no memory for a message that came over the wire: it is "
                  "lost");
    }
}

/* Of the kind, or NULL. */
static const struct mgds_wire_handler *handler_of(unsigned kind)
{
    if (kind < MGDS_WIRE_KINDS && handlers[kind].head)
        return &handlers[kind];
    mgds_count(frames_unhandled);
    mgds_warn_once("a wire message of kind %u came and nothing here takes "
                   "that kind: dropped; do all processes of the job load "
                   "the same libmpix_gds.so?",
                   kind);
    return NULL;
}

bool mgds_wire_deliver(const void *header, size_t bytes, size_t body_bytes,
                       struct mgds_wire_landing *out)
{
    const struct mgds_wire_handler *handler;
    struct mgds_wire_arrival it;
    struct mgds_wire_frame frame;
    int rc = mgds_senders_admit(&senders, &mgds_wire.self, &frame, header,
                                bytes, body_bytes);

    if (rc < 0) {
        say_refusal(rc);
        return false;
    }
    handler = handler_of(mgds_wire_kind(&frame));
    it = (struct mgds_wire_arrival){.from = frame.from,
                                    .head = frame.head,
                                    .head_bytes =
                                        bytes - mgds_wire_frame_bytes(0),
                                    .body_bytes = body_bytes};
    if (!handler || handler->head(handler->ctx, &it) < 0 || body_bytes == 0)
        return false;
    *out = (struct mgds_wire_landing){it.where, handler->body, it.arg};
    return true;
}

int mgds_wire_handle(unsigned kind, const struct mgds_wire_handler *handler)
{
    const struct mgds_wire_handler none = {.head = NULL};

    if (kind >= MGDS_WIRE_KINDS || (handler && !handler->head))
        return -EINVAL;
    mgds_lock_acquire(&mgds_wire.lock);
    handlers[kind] = handler ? *handler : none;
    mgds_lock_release(&mgds_wire.lock);
    return 0;
}

void mgds_wire_forget_senders(void)
{
    mgds_senders_fini(&senders);
}
