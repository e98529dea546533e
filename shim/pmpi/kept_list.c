/* Messages that probes have taken out. */
#include "shim/pmpi/kept_list.h"

static bool accepts(int wanted, int any, int is)
{
    return wanted == any || wanted == is;
}

struct mgds_kept *mgds_kept_find(const struct mgds_kept_list *list,
                                 MPI_Comm comm, int source, int tag)
{
    struct mgds_kept *kept;

    TAILQ_FOREACH(kept, list, link)
    {
        if (kept->comm == comm &&
            accepts(source, MPI_ANY_SOURCE, kept->status.MPI_SOURCE) &&
            accepts(tag, MPI_ANY_TAG, kept->status.MPI_TAG))
            break;
    }
    return kept;
}
