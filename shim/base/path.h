/* File names with places to fill: every rank of a job reads the same
 * environment and must not write the same file. */
#ifndef MGDS_BASE_PATH_H
#define MGDS_BASE_PATH_H

#include <stddef.h>

/* Copies pattern to out: %p becomes the pid, %h the host name, %r the rank
 * ("norank" if it is negative), %% a percent sign. -EINVAL for any other
 * letter and for an empty pattern, -ENAMETOOLONG if it does not fit; out is
 * then not to be used. */
int mgds_path_expand(char *out, size_t size, const char *pattern, int rank);

#endif
