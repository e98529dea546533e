/*
 * Bytes as the text that MPICH writes into info values: two upper-case
 * hexadecimal digits a byte, and [n] for a run of n zero bytes, n > 1. Pure.
 */
#ifndef MGDS_PMPI_INFO_HEX_H
#define MGDS_PMPI_INFO_HEX_H

#include <stddef.h>

/* MPICH's buffer, with the terminator. */
enum { MGDS_HEX_TEXT = 1024 };

/* 0, or -E2BIG if the text does not fit. */
int mgds_hex_encode(char text[MGDS_HEX_TEXT], const void *bytes, size_t size);

/* 0 if the text stands for exactly size bytes, in either case of letters;
 * else -EINVAL, and bytes are undefined. */
int mgds_hex_decode(void *bytes, size_t size, const char *text);

#endif
