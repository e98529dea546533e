/* Addresses of ports. A device has a number on its fabric, which is its LID,
 * and all other addresses follow from it:
 *
 *   link  LID     entry 0 of the GID table       MAC
 *   ib    number  fe80::(GUID of that number)    -
 *   roce  0       ::ffff:10.165.(number)         02:c9:00:00:(number)
 *
 * Pure functions but for mgds_hca_is_ib. */
#ifndef MGDS_HCA_ADDRESS_H
#define MGDS_HCA_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ib_uverbs_qp_dest;

/* The link layer of all ports here. */
bool mgds_hca_is_ib(void);

/* Node GUID, in host order. */
uint64_t mgds_hca_guid(uint16_t number);
void mgds_hca_gid(uint16_t number, uint8_t gid[16]);
void mgds_hca_mac(uint16_t number, uint8_t mac[6]);

/* The number that a GID means, or 0: none of ours. */
uint16_t mgds_hca_gid_number(const uint8_t gid[16]);

/* The number of the port that a path leads to, or 0, nobody's: LID and GID do
 * not belong together. */
uint16_t mgds_hca_path_number(const struct ib_uverbs_qp_dest *to);

#endif
