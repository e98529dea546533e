/* The files by which programs find the devices: what the kernel would show in
 * /sys and /dev, in a temporary folder of this process. */
#ifndef MGDS_HCA_TREE_H
#define MGDS_HCA_TREE_H

/* The folder that stands for "/", made at the first call by any thread; NULL if
 * it cannot be made, which one line has told. It goes when the process that
 * made it exits. */
const char *mgds_hca_tree(void);

/* Before this process ends. */
void mgds_hca_tree_remove(void);

#endif
