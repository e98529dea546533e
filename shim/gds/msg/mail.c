/* Orders in the mailboxes of several streams; see mail.h. */
#include "shim/gds/msg/mail.h"

#include "shim/gds/msg/timelines.h"
#include "shim/gds/stream/gstream.h"

static bool has_stream(const struct mgds_mail *mail,
                       const struct mgds_gstream *stream)
{
    unsigned i = 0;

    while (i < mail->count && mail->to[i].stream != stream)
        i++;
    return i < mail->count;
}

static void give_order(struct mgds_mail *mail, struct mgds_gstream *stream,
                       const struct mgds_command *take)
{
    uint64_t order;

    if (mail->count == MGDS_MAIL_MOST || has_stream(mail, stream))
        return;
    order = mgds_gstream_order(stream, take);
    if (!order)
        return;
    mail->to[mail->count].stream = mgds_gstream_get(stream);
    mail->to[mail->count++].order = order;
}

bool mgds_mail_send(struct mgds_mail *mail, struct mgds_gstream *own,
                    const struct mgds_command *take)
{
    unsigned before = mail->count;

    give_order(mail, own, take);
    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next)
        if (mgds_gstream_context(timeline->stream) == mgds_gstream_context(own))
            give_order(mail, timeline->stream, take);
    return before == 0 && mail->count > 0;
}

bool mgds_mail_is_served(const struct mgds_mail *mail)
{
    unsigned i = 0;

    while (i < mail->count &&
           !mgds_gstream_served(mail->to[i].stream, mail->to[i].order))
        i++;
    return i < mail->count;
}

void mgds_mail_take_back(struct mgds_mail *mail)
{
    while (mail->count > 0) {
        struct mgds_gstream *stream = mail->to[--mail->count].stream;

        mgds_gstream_order_back(stream);
        mgds_gstream_release(stream);
    }
}
