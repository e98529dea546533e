/* Opening a port, and finding its addresses. */
#include "shim/gds/hca/rail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/hca/rail_state.h"

enum { PKEY_FULL = 1 << 15, PKEY_MASK = PKEY_FULL - 1, LEAST_MTU_BYTES = 256 };

static struct ibv_device *find_device(const struct mgds_verbs *verbs,
                                      struct ibv_device **list, int count,
                                      const char *name)
{
    for (int i = 0; i < count; i++) {
        const char *other = verbs->ibv_get_device_name(list[i]);

        if (other && strcmp(other, name) == 0)
            return list[i];
    }
    return NULL;
}

/* They are looked for between other things (news.h). */
static bool never_wait_for_events(const struct ibv_context *context)
{
    int flags = fcntl(context->async_fd, F_GETFL);

    return flags >= 0 &&
           fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static int open_found(struct mgds_rail *rail, struct ibv_device *device,
                      struct mgds_refusal *refusal)
{
    if (!device)
        return mgds_refuse(refusal, MGDS_REFUSAL_NO_DEVICE, ENODEV);
    if (!rail->verbs->mlx5dv_is_supported(device))
        return mgds_refuse(refusal, MGDS_REFUSAL_NO_CONNECTX, ENODEV);
    rail->context = rail->verbs->ibv_open_device(device);
    if (!rail->context || !never_wait_for_events(rail->context))
        return mgds_refuse(refusal, MGDS_REFUSAL_OPEN, errno);
    return 0;
}

static int open_device(struct mgds_rail *rail, const char *name,
                       struct mgds_refusal *refusal)
{
    int count = 0, rc;
    struct ibv_device **list = rail->verbs->ibv_get_device_list(&count);

    if (!list)
        return mgds_refuse(refusal, MGDS_REFUSAL_NO_DEVICE, errno);
    rc = open_found(rail, find_device(rail->verbs, list, count, name), refusal);
    rail->verbs->ibv_free_device_list(list);
    return rc;
}

/* The header's own function would need libibverbs when we are linked. */
static int query_port(struct ibv_context *context, uint8_t port,
                      struct ibv_port_attr *attr)
{
    struct verbs_context *extended = verbs_get_ctx_op(context, query_port);

    memset(attr, 0, sizeof(*attr));
    return extended ? extended->query_port(context, port, attr, sizeof(*attr))
                    : EOPNOTSUPP;
}

/* As verbs numbers them; 0: as the port has it. */
static uint8_t mtu_of(unsigned bytes)
{
    uint8_t mtu = 0;

    for (; bytes >= LEAST_MTU_BYTES; bytes /= 2)
        mtu++;
    return mtu;
}

static void take_port(struct mgds_rail *rail, const struct ibv_port_attr *attr)
{
    uint8_t wanted = mtu_of(rail->settings.mtu);
    uint8_t active = (uint8_t)attr->active_mtu;

    rail->address.link = attr->link_layer == IBV_LINK_LAYER_ETHERNET
                             ? MGDS_LINK_ETHERNET
                             : MGDS_LINK_INFINIBAND;
    rail->address.lid = attr->lid;
    rail->address.mtu = wanted && wanted < active ? wanted : active;
}

static bool is_wanted_pkey(const struct mgds_rail *rail, uint16_t pkey)
{
    unsigned wanted = rail->settings.pkey & PKEY_MASK;

    return wanted ? (pkey & PKEY_MASK) == wanted : (pkey & PKEY_FULL) != 0;
}

static int find_pkey(struct mgds_rail *rail, unsigned rows,
                     struct mgds_refusal *refusal)
{
    for (unsigned i = 0; i < rows; i++) {
        __be16 row = 0;
        uint16_t pkey;

        if (rail->verbs->ibv_query_pkey(rail->context, rail->port, (int)i,
                                        &row) != 0)
            continue;
        pkey = be16toh(row);
        if (!is_wanted_pkey(rail, pkey))
            continue;
        rail->address.pkey = pkey;
        rail->pkey_index = (uint16_t)i;
        return 0;
    }
    return mgds_refuse(refusal, MGDS_REFUSAL_PKEY, 0);
}

/* InfiniBand has GIDs of one type. */
static bool is_wanted_gid(const struct mgds_rail *rail,
                          const struct ibv_gid_entry *row)
{
    if (rail->settings.gid_index != MGDS_GID_ANY)
        return row->gid_index == rail->settings.gid_index;
    if (rail->address.link == MGDS_LINK_INFINIBAND)
        return true;
    return row->gid_type == (rail->settings.gid_type == MGDS_GID_V1
                                 ? IBV_GID_TYPE_ROCE_V1
                                 : IBV_GID_TYPE_ROCE_V2);
}

static int find_gid(struct mgds_rail *rail, unsigned rows,
                    struct mgds_refusal *refusal)
{
    for (unsigned i = 0; i < rows && i < MGDS_GID_ANY; i++) {
        struct ibv_gid_entry row;

        if (rail->verbs->_ibv_query_gid_ex(rail->context, rail->port, i, &row,
                                           0, sizeof(row)) != 0 ||
            !is_wanted_gid(rail, &row))
            continue;
        memcpy(rail->address.gid, row.gid.raw, sizeof(rail->address.gid));
        rail->gid_index = (uint8_t)i;
        return 0;
    }
    return mgds_refuse(refusal, MGDS_REFUSAL_GID, 0);
}

static int find_addresses(struct mgds_rail *rail, struct mgds_refusal *refusal)
{
    struct ibv_port_attr attr;
    int rc = query_port(rail->context, rail->port, &attr);

    if (rc != 0)
        return mgds_refuse(refusal, MGDS_REFUSAL_PORT, rc);
    if (attr.state != IBV_PORT_ACTIVE)
        return mgds_refuse(refusal, MGDS_REFUSAL_PORT_DOWN, 0);
    take_port(rail, &attr);
    rc = find_pkey(rail, attr.pkey_tbl_len, refusal);
    if (rc == 0)
        rc = find_gid(rail, (unsigned)attr.gid_tbl_len, refusal);
    return rc;
}

static int open_domain(struct mgds_rail *rail, struct mgds_refusal *refusal)
{
    rail->pd = rail->verbs->ibv_alloc_pd(rail->context);
    return rail->pd ? 0 : mgds_refuse(refusal, MGDS_REFUSAL_DOMAIN, errno);
}

int mgds_rail_open_by(struct mgds_rail **out, const struct mgds_verbs *verbs,
                      const struct mgds_port *port,
                      const struct mgds_rail_settings *settings,
                      struct mgds_refusal *refusal)
{
    struct mgds_rail *rail = (struct mgds_rail *)mgds_calloc(1, sizeof(*rail));
    int rc;

    if (!rail)
        return mgds_refuse(refusal, MGDS_REFUSAL_OPEN, ENOMEM);
    rail->verbs = verbs;
    rail->settings = *settings;
    rail->port = (uint8_t)port->number;
    rc = open_device(rail, port->device, refusal);
    if (rail->context)
        rc = find_addresses(rail, refusal);
    if (rc == 0)
        rc = open_domain(rail, refusal);
    if (rc < 0) {
        mgds_rail_close(rail);
        return rc;
    }
    *out = rail;
    return 0;
}

int mgds_rail_open(struct mgds_rail **out, const struct mgds_port *port,
                   const struct mgds_rail_settings *settings,
                   struct mgds_refusal *refusal)
{
    const struct mgds_verbs *verbs = mgds_verbs(refusal);

    if (!verbs)
        return -ENOTSUP;
    return mgds_rail_open_by(out, verbs, port, settings, refusal);
}

void mgds_rail_close(struct mgds_rail *rail)
{
    if (!rail)
        return;
    if (rail->pd)
        rail->verbs->ibv_dealloc_pd(rail->pd);
    if (rail->context)
        rail->verbs->ibv_close_device(rail->context);
    free(rail);
}

void mgds_rail_describe(const struct mgds_rail *rail, struct mgds_end_rail *out)
{
    *out = rail->address;
}
