/* Domains are made; see comm.h and comm_state.h. */
#include <errno.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/gds/proto/credit.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/pair.h"
#include "shim/gds/comm/watch.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/stream/gstream.h"

static int allocate_members(struct mgds_domain *domain)
{
    size_t own = domain->streams ? domain->streams : 1;

    domain->stream =
        (struct mgds_gstream **)mgds_calloc(own, sizeof(struct mgds_gstream *));
    domain->member = (struct mgds_domain_member *)mgds_calloc(
        domain->peers, sizeof(domain->member[0]));
    domain->match =
        (struct mgds_match **)mgds_calloc(own, sizeof(struct mgds_match *));
    domain->sent =
        (uint64_t *)mgds_calloc(own * domain->sources, sizeof(domain->sent[0]));
    for (size_t i = 0; domain->sent && i < own * domain->sources; i++)
        domain->sent[i] = MGDS_COUNT_FROM;
    return domain->stream && domain->member && domain->match && domain->sent
               ? 0
               : -ENOMEM;
}

/* Where each member's sources begin: one for each of its streams, at least
 * one. */
static int set_base(struct mgds_domain *domain,
                    const struct mgds_domain_spec *spec)
{
    domain->base =
        (unsigned *)mgds_calloc(domain->peers + 1, sizeof(domain->base[0]));
    if (!domain->base)
        return -ENOMEM;
    for (unsigned i = 0; i < domain->peers; i++) {
        unsigned streams = spec->members[i].streams;

        domain->base[i + 1] = domain->base[i] + (streams ? streams : 1);
    }
    domain->sources = domain->base[domain->peers];
    return 0;
}

static int fill_domain(struct mgds_domain *domain,
                       const struct mgds_domain_spec *spec)
{
    unsigned own = domain->streams ? domain->streams : 1;
    int rc = mgds_fifos_init(&domain->pulls);

    if (rc == 0)
        rc = set_base(domain, spec);
    if (rc == 0)
        rc = allocate_members(domain);
    for (unsigned i = 0; rc == 0 && i < domain->streams; i++)
        if (spec->streams[i])
            domain->stream[i] = mgds_gstream_get(spec->streams[i]);
    for (unsigned i = 0; rc == 0 && i < own; i++)
        rc = mgds_match_create(&domain->match[i], domain->sources, mgds_paired,
                               domain);
    for (unsigned i = 0; rc == 0 && i < domain->peers; i++)
        rc = mgds_wire_peer_get(&domain->member[i].peer,
                                spec->members[i].address,
                                spec->members[i].address_bytes);
    for (unsigned i = 0; rc == 0 && i < domain->peers; i++)
        mgds_domain_lose(domain, i,
                         mgds_wire_peer_error(domain->member[i].peer));
    return rc;
}

int mgds_domain_create(struct mgds_domain **out,
                       const struct mgds_domain_spec *spec)
{
    struct mgds_domain *domain;
    int rc;

    domain = (struct mgds_domain *)mgds_calloc(1, sizeof(*domain));
    if (!domain)
        return -ENOMEM;
    domain->refs = 1;
    domain->id = spec->id;
    domain->rank = spec->rank;
    domain->inter = spec->inter;
    domain->peers = spec->inter ? spec->remote_size : spec->size;
    domain->others = domain->peers - !spec->inter;
    domain->streams = spec->stream_count;
    domain->channels = spec->channels;
    LIST_INIT(&domain->ops);
    if (spec->channels)
        mgds_channels_get(spec->channels);
    rc = fill_domain(domain, spec);
    if (rc < 0) {
        mgds_domain_destroy(domain);
        return rc;
    }
    mgds_engine_enter();
    mgds_domain_list(domain);
    mgds_watch_meet(spec);
    mgds_am_replay();
    mgds_engine_leave();
    *out = domain;
    return 0;
}
