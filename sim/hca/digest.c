/* Sums of bytes and places. */
#include "sim/hca/digest.h"

#include "sim/hca/piece.h"

static uint64_t weight_of(uint64_t place)
{
    uint64_t weight = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);

    return weight ^ weight >> 29;
}

void mgds_hca_digest_add(struct mgds_hca_sum *sum,
                         const struct mgds_hca_list *list, uint64_t offset)
{
    for (unsigned i = 0; i < list->count; i++) {
        for (uint64_t at = 0; at < list->piece[i].bytes; at++)
            sum->sum += weight_of(offset++) * (list->piece[i].at[at] + 1u);
    }
    sum->bytes += list->bytes;
}
