/* The list of tables. */
#include "case.h"

/* One row a file of cases, in the order in which they run. */
#define TABLES(X)                                                              \
    X(init)                                                                    \
    X(stream)                                                                  \
    X(event)                                                                   \
    X(legacy)                                                                  \
    X(memop)                                                                   \
    X(batch)                                                                   \
    X(copy)                                                                    \
    X(memory)                                                                  \
    X(attr)                                                                    \
    X(pool)                                                                    \
    X(vmm)                                                                     \
    X(peer)                                                                    \
    X(ipc)                                                                     \
    X(ipcevent)                                                                \
    X(context)                                                                 \
    X(hostfn)                                                                  \
    X(capture)                                                                 \
    X(capmode)                                                                 \
    X(graph)                                                                   \
    X(node)                                                                    \
    X(block)                                                                   \
    X(kernel)                                                                  \
    X(sticky)

#define X(name) extern const struct mgds_case mgds_cases_##name[];
TABLES(X)
#undef X

#define X(name) mgds_cases_##name,
static const struct mgds_case *const tables[] = {TABLES(X)};
#undef X

const struct mgds_case *mgds_case_at(int index)
{
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct mgds_case *row = tables[t]; row->name; row++)
            if (index-- == 0)
                return row;
    return NULL;
}

int mgds_case_count(void)
{
    int count = 0;

    while (mgds_case_at(count))
        count++;
    return count;
}
