/* Host memory of the program, to and from a row of packed bytes, by the CPU. */
#ifndef MGDS_MEM_HOSTCOPY_H
#define MGDS_MEM_HOSTCOPY_H

#include <stddef.h>

#include "shim/gds/mem/bounce.h"

/* The first bytes packed bytes of the buffer. */
void mgds_host_pack(char *row, const struct mgds_buffer *user, size_t bytes);
void mgds_host_unpack(const struct mgds_buffer *user, const char *row,
                      size_t bytes);

#endif
