/* Which paths of a program mean the tree of the devices. */
#ifndef MGDS_HCA_REDIRECT_H
#define MGDS_HCA_REDIRECT_H

#include <limits.h>

/* The path itself, or where the tree has it, written to `room`. NULL: the path
 * is one of the devices', and there is no tree (errno is ENOENT). */
const char *mgds_hca_redirect(const char *path, char room[PATH_MAX]);

/* Takes the folder of the tree off a path, in place: what a program is told. */
void mgds_hca_unredirect(char *path);

/* N if the path is /dev/infiniband/uverbsN of a device that there is, or
 * -1. */
int mgds_hca_node(const char *path);

#endif
