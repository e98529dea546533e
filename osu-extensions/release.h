/* The release of NVIDIA's kernel module. Pure. */
#ifndef MGDS_BENCH_RELEASE_H
#define MGDS_BENCH_RELEASE_H

#include <stddef.h>

/*
 * Copies the release out of the first line of /proc/driver/nvidia/version:
 * "580.95.05". Returns 0, or -EINVAL and "" if the line holds none.
 */
int mgds_bench_release_parse(const char *line, char *out, size_t size);

#endif
