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

uint32_t mgds_hca_digest_word(const struct mgds_hca_sum *sum)
{
    uint32_t word = (uint32_t)(sum->sum ^ sum->sum >> 32);

    return word ? word : 1;
}

static void join(struct mgds_hca_sum *total, const struct mgds_hca_sum *sum)
{
    total->sum += sum->sum;
    total->bytes += sum->bytes;
}

uint32_t mgds_hca_digest_send(struct mgds_hca_digest *digest,
                              const struct mgds_hca_list *list)
{
    struct mgds_hca_sum sum = {0};

    mgds_hca_digest_add(&sum, list, 0);
    join(&digest->sent, &sum);
    return mgds_hca_digest_word(&sum);
}

void mgds_hca_digest_place(struct mgds_hca_digest *digest,
                           struct mgds_hca_sum *sum,
                           const struct mgds_hca_list *list, uint64_t offset)
{
    struct mgds_hca_sum part = {0};

    if (offset == 0)
        *sum = (struct mgds_hca_sum){0};
    mgds_hca_digest_add(&part, list, offset);
    join(&digest->placed, &part);
    join(sum, &part);
}

void mgds_hca_digest_compare(struct mgds_hca_digest *digest,
                             const struct mgds_hca_sum *sum, uint64_t bytes,
                             uint32_t word)
{
    if (sum->bytes != bytes)
        return;
    digest->arrived++;
    digest->differ += mgds_hca_digest_word(sum) != word;
}
