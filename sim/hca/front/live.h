/* Files of ports in sysfs that say what is now: the port's state, and its
 * counters (the rows of sim/hca/wire/counts.def). A file
 * is written when somebody is about to look at it, for this process's port. */
#ifndef MGDS_HCA_LIVE_H
#define MGDS_HCA_LIVE_H

/* A file or folder of the tree, wherever it is. Not under the lock. */
void mgds_hca_live_refresh(const char *path);

#endif
