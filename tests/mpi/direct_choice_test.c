/* Which messages go by header: every combination of what decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/direct/header.h"
#include "shim/pmpi/direct_choice.h"

static const size_t lengths[] = {
    0, MGDS_HEADER_BYTES - 1, MGDS_HEADER_BYTES, 4095, 4096, SIZE_MAX};
static const size_t thresholds[] = {0, 1, 4096, SIZE_MAX};

/* The rule, in other words. */
static enum mgds_direct_choice expected(const struct mgds_direct_message *m,
                                        enum mgds_direct_peer peer, size_t from)
{
    static const enum mgds_direct_choice by_peer[] = {
        [MGDS_DIRECT_PEER_FAR] = MGDS_DIRECT_STAGE,
        [MGDS_DIRECT_PEER_NEAR] = MGDS_DIRECT_SAMPLE,
        [MGDS_DIRECT_PEER_PROVEN] = MGDS_DIRECT_HEADER};
    bool on = from > 0;
    bool long_enough = m->bytes >= from && m->bytes >= MGDS_HEADER_BYTES;

    return on && long_enough && m->exportable && m->dense ? by_peer[peer]
                                                          : MGDS_DIRECT_STAGE;
}

static void the_choice_is_the_rule(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
        for (unsigned k = 0; k < 4 * sizeof(thresholds) / sizeof(*thresholds);
             k++)
            for (int peer = 0; peer <= MGDS_DIRECT_PEER_PROVEN; peer++) {
                struct mgds_direct_message message = {
                    .exportable = k & 1, .dense = k & 2, .bytes = lengths[i]};
                size_t from = thresholds[k / 4];
                enum mgds_direct_peer at = (enum mgds_direct_peer)peer;

                assert_int_equal(mgds_direct_choose(&message, at, from),
                                 expected(&message, at, from));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_the_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
