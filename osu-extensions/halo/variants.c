/* The table of variants, and the one that exchanges nothing. */
#include "osu-extensions/halo/halo.h"

const struct mgds_halo_variant *const mgds_halo_variants[MGDS_HALO_VARIANTS] = {
    &mgds_halo_alone,      &mgds_halo_host,     &mgds_halo_enqueued,
    &mgds_halo_group,      &mgds_halo_startall, &mgds_halo_nccl,
    &mgds_halo_nccl_graph, &mgds_halo_copy,
};

static int alone_open(struct mgds_halo_lane **out, const struct mgds_halo *h,
                      char why[256])
{
    (void)h;
    (void)why;
    *out = NULL;
    return 0;
}

static void alone_close(struct mgds_halo_lane *lane)
{
    (void)lane;
}

static void alone_exchange(struct mgds_halo_lane *lane,
                           const struct mgds_halo *h)
{
    (void)lane;
    (void)h;
}

const struct mgds_halo_variant mgds_halo_alone = {
    .name = "program",
    .title = "program alone",
    .alone = true,
    .open = alone_open,
    .close = alone_close,
    .exchange = alone_exchange,
};
