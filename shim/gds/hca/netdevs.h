/* Lists of ports as UCX_NET_DEVICES has them: "all", or names as mlx5_0:1 with
 * commas between them, which are the ports that may be used; with ^ in front
 * those that may not. A name without a port means all ports of the device,
 * which UCX does not know. */
#ifndef MGDS_HCA_NETDEVS_H
#define MGDS_HCA_NETDEVS_H

#include <stdbool.h>

/* NULL and "" allow all. */
bool mgds_netdevs_allow(const char *list, const char *device, unsigned port);

#endif
