/* Addresses of ports. A port has a number in its network, its LID, and all
 * other addresses follow from it:
 *
 *   link  LID     row 0 of the GID table         MAC
 *   ib    number  fe80::(GUID of that number)    -
 *   roce  0       ::ffff:10.165.(number)         02:c9:00:00:(number)
 *
 * Rows behind it are those of MPIX_SIM_HCA_GIDS, ending in that number. A GID
 * is known that stands in the tables of this process: all of a network have the
 * same. The link layer is that of all ports here; any thread. */
#ifndef MGDS_HCA_GID_H
#define MGDS_HCA_GID_H

#include <stdbool.h>
#include <stdint.h>

struct ib_uverbs_qp_dest;
struct mgds_hca_address;

bool mgds_hca_is_ib(void);

/* Node GUID, in host order. */
uint64_t mgds_hca_guid(uint16_t number);

/* How many rows GID tables have, and one of them. */
unsigned mgds_hca_gids(void);
void mgds_hca_gid(uint16_t number, unsigned row, uint8_t gid[16]);

void mgds_hca_mac(uint16_t number, uint8_t mac[6]);

/* The number that a GID means, or 0: none of ours. */
uint16_t mgds_hca_gid_number(const uint8_t gid[16]);

/* Where a path leads to, as the engine has it; and the number of that device,
 * or 0, nobody's: LID and GID do not belong together. */
struct mgds_hca_address mgds_hca_path(const struct ib_uverbs_qp_dest *to);
uint16_t mgds_hca_path_number(const struct mgds_hca_address *address);

#endif
