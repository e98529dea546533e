/* Probes, and messages that a probe took; see domain.h. */
#include <errno.h>
#include <stdlib.h>

#include "shim/gds/domain/engine.h"

bool mgds_message_is(const struct mgds_message *message, int source,
                     unsigned to_index, uint64_t number)
{
    return message->match.source == source && message->to_index == to_index &&
           message->match.number == number;
}

static int source_of(const struct mgds_domain *domain,
                     const struct mgds_probe *probe)
{
    if (probe->peer == MGDS_ANY_SOURCE)
        return MGDS_ANY_SOURCE;
    return (int)(domain->base[probe->peer] + probe->from_index);
}

static void describe(const struct mgds_message *message,
                     struct mgds_op_status *status)
{
    *status = (struct mgds_op_status){.source = (int)message->rank,
                                      .tag = message->match.tag,
                                      .index = (int)message->index,
                                      .bytes = message->bytes};
}

/* 1, 0 there is none, or the error that ended the peer. Under the engine's
 * lock. */
static int look(struct mgds_message **out, struct mgds_domain *domain,
                const struct mgds_probe *probe)
{
    int rc = mgds_lost_rank(domain, probe->peer);

    *out = NULL;
    if (rc < 0 && probe->peer >= 0)
        return rc;
    mgds_exchange_subscribe(domain);
    *out = (struct mgds_message *)(void *)mgds_match_probe(
        domain->match[probe->to_index], source_of(domain, probe), probe->tag);
    return *out ? 1 : rc;
}

static int no_process(struct mgds_op_status *status)
{
    *status =
        (struct mgds_op_status){.source = MGDS_PROC_NULL, .tag = MGDS_ANY_TAG};
    return 1;
}

int mgds_domain_probe(struct mgds_domain *domain,
                      const struct mgds_probe *probe,
                      struct mgds_op_status *status)
{
    struct mgds_message *message;
    int rc;

    if (probe->peer == MGDS_PROC_NULL)
        return no_process(status);
    mgds_op_progress();
    mgds_engine_enter();
    rc = look(&message, domain, probe);
    if (message)
        describe(message, status);
    else if (rc == 0)
        mgds_watch_probe(domain, probe);
    mgds_engine_leave();
    return rc;
}

int mgds_domain_mprobe(struct mgds_message **out, struct mgds_domain *domain,
                       const struct mgds_probe *probe,
                       struct mgds_op_status *status)
{
    struct mgds_message *message;
    int rc;

    *out = NULL;
    if (probe->peer == MGDS_PROC_NULL)
        return no_process(status);
    mgds_op_progress();
    mgds_engine_enter();
    rc = look(&message, domain, probe);
    if (message) {
        describe(message, status);
        mgds_match_take(domain->match[probe->to_index], &message->match);
        mgds_domain_get(domain);
        *out = message;
    } else if (rc == 0) {
        mgds_watch_probe(domain, probe);
    }
    mgds_engine_leave();
    return rc;
}
