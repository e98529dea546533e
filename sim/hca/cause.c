/* The table of what follows from a wrong work request. */
#include "sim/hca/cause.h"

#include "device/abi_wqe.h"

#define X(name_, synd, vend, receive_synd, receive_vend, who, event_, from)    \
    [MGDS_CAUSE_##name_] = {                                                   \
        .name = #name_,                                                        \
        .syndrome = MGDS_SYNDROME_##synd,                                      \
        .vendor = vend,                                                        \
        .receive_syndrome = MGDS_SYNDROME_##receive_synd,                      \
        .receive_vendor = receive_vend,                                        \
        .blame = MGDS_BLAME_##who,                                             \
        .event = MGDS_EVENT_##event_,                                          \
        .source = from,                                                        \
    },
static const struct mgds_hca_verdict verdicts[MGDS_CAUSES] = {
#include "sim/hca/syndromes.def"
};
#undef X

const struct mgds_hca_verdict *mgds_hca_verdict(enum mgds_hca_cause cause)
{
    return &verdicts[cause];
}
