/* Functions found at run time; see symbols.h. */
#include "tools/probe/symbols.h"

#include <dlfcn.h>
#include <string.h>

const char *mgds_symbols_find(void *table, void *library,
                              const struct mgds_symbol *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, row[i].name);

        if (!symbol)
            return row[i].name;
        memcpy((char *)table + row[i].offset, &symbol, sizeof(symbol));
    }
    return NULL;
}
