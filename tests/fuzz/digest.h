/* A number for all that this program remembers: every byte of its variables and
 * of its live memory. The linker sends calls of malloc and the like here
 * (--wrap), so no table is forgotten. One thread. */
#ifndef MGDS_TEST_DIGEST_H
#define MGDS_TEST_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The same as long as nothing is written but counters (stats.h), the stack, and
 * memory of digest_alloc. */
uint64_t digest_of_all(void);

/* Memory that does not count: for the test itself. Never given back. */
void *digest_alloc(size_t bytes);

#endif
