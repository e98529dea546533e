/* By LID, or by GID where that does not do; see path.h. */
#include "shim/gds/hca/path.h"

#include <string.h>

enum { HOPS = 255 };

/* RoCE, another subnet, or a port without a LID. */
static bool needs_gid(const struct mgds_rail *rail,
                      const struct mgds_end_rail *peer)
{
    return peer->link == MGDS_LINK_ETHERNET || peer->lid == 0 ||
           memcmp(rail->address.gid, peer->gid, sizeof(peer->gid) / 2) != 0;
}

struct ibv_ah_attr mgds_path_to(const struct mgds_rail *rail,
                                const struct mgds_end_rail *peer)
{
    struct ibv_ah_attr path = {
        .dlid = peer->lid,
        .sl = (uint8_t)rail->settings.service_level,
        .port_num = rail->port,
        .is_global = needs_gid(rail, peer),
    };

    if (!path.is_global)
        return path;
    memcpy(path.grh.dgid.raw, peer->gid, sizeof(peer->gid));
    path.grh.sgid_index = rail->gid_index;
    path.grh.hop_limit = HOPS;
    path.grh.traffic_class = (uint8_t)rail->settings.traffic_class;
    return path;
}
