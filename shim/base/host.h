/* What host this is: processes with equal answers share its memory. */
#ifndef MGDS_BASE_HOST_H
#define MGDS_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* Of this boot of the machine; processes with equal ones, containers included,
 * have one monotonic clock. Returns 0 or what reading /proc failed with. */
enum { MGDS_BOOT_ID = 64 };
int mgds_host_boot_id(char id[MGDS_BOOT_ID]);

/* MPIX_SIM_HOST if that is set: simulations say what is a host. Else boot id
 * and IPC namespace, so that containers count as hosts where they cannot share
 * memory. This is the one place that says it. Returns 0, -ENAMETOOLONG, or what
 * reading /proc failed with. */
int mgds_host_name(char *host, size_t size);

/* The same as a number, not 0; 0: it cannot be known. */
uint64_t mgds_host_number(void);

#endif
