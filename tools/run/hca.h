/* Whether the software HCA can stand under a program. */
#ifndef MGDS_RUN_HCA_H
#define MGDS_RUN_HCA_H

#include <stddef.h>

/* A question about a machine or a program: 0, or a negative errno with one line
 * in text (size bytes) that names what is wrong and the remedy. */

/* No HCA is listed in this folder of sysfs, which a simulated one would hide.
 * -EBUSY. */
int mgds_run_no_real_hca(const char *folder, char *text, size_t size);

/* The libmlx5 that programs would use is there. -ENOENT. */
int mgds_run_has_mlx5(char *text, size_t size);

/* The loader preloads into this program, as execvp would find it: it is linked
 * dynamically, and runs as who starts it. One that is not found is no matter
 * here. -ENOEXEC, -EPERM. */
int mgds_run_takes_preload(const char *program, char *text, size_t size);

#endif
