/* Settings of the environment as the files of this folder need them. */
#include "shim/gds/hca/settings.h"

/* Of the names of ib_mtu: auto, 256, 512 and so on. */
static unsigned bytes_of(enum mgds_ib_mtu mtu)
{
    return mtu == MGDS_IB_MTU_AUTO ? 0 : 128u << mtu;
}

void mgds_rail_settings_take(struct mgds_rail_settings *out,
                             const struct mgds_config *config)
{
    *out = (struct mgds_rail_settings){
        .pkey = (unsigned)config->ib_pkey,
        .gid_index = (unsigned)config->ib_gid_index,
        .gid_type = config->ib_gid_type,
        .traffic_class = (unsigned)config->ib_traffic_class,
        .service_level = (unsigned)config->ib_sl,
        .timeout = (unsigned)config->ib_timeout,
        .retries = (unsigned)config->ib_retries,
        .rnr_retries = (unsigned)config->ib_rnr_retries,
        .mtu = bytes_of(config->ib_mtu),
    };
}
