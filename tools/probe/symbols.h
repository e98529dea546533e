/* Tables of functions that the loader finds at run time. */
#ifndef MGDS_PROBE_SYMBOLS_H
#define MGDS_PROBE_SYMBOLS_H

#include <stddef.h>

struct mgds_symbol {
    size_t offset; /* of the member that points to it */
    const char *name;
};

/* Fills the members of table, which is made of pointers to functions, from a
 * library (or RTLD_DEFAULT). The name of the first one that the library does
 * not have, or NULL. */
const char *mgds_symbols_find(void *table, void *library,
                              const struct mgds_symbol *row, size_t count);

#endif
