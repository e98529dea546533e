/* What mpix-gds-verify-hca does behind its command line. */
#ifndef MGDS_TOOLS_VERIFY_H
#define MGDS_TOOLS_VERIFY_H

/* Exit statuses, as the doctor's. */
enum { MGDS_VERIFY_WELL, MGDS_VERIFY_NOTHING, MGDS_VERIFY_BROKEN };

/* Tries all ports of this machine that may be used, and prints what it finds.
 * Returns an exit status. */
int mgds_verify_hca(void);

#endif
