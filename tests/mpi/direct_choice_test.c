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
static const struct mgds_direct_from thresholds[] = {
    {0, 0},    {0, 1},    {1, 1},           {1, 0},        {4096, 1},
    {1, 4096}, {4096, 0}, {SIZE_MAX, 4096}, {1, SIZE_MAX},
};

/* The rule, in other words. */
static enum mgds_direct_choice expected(const struct mgds_direct_message *m,
                                        enum mgds_direct_peer peer,
                                        const struct mgds_direct_from *from)
{
    static const enum mgds_direct_choice by_peer[] = {
        [MGDS_DIRECT_PEER_FAR] = MGDS_DIRECT_STAGE,
        [MGDS_DIRECT_PEER_NEAR] = MGDS_DIRECT_SAMPLE,
        [MGDS_DIRECT_PEER_PROVEN] = MGDS_DIRECT_HEADER,
        [MGDS_DIRECT_PEER_SHARES] = MGDS_DIRECT_HEADER};
    bool shares = peer == MGDS_DIRECT_PEER_SHARES;
    size_t least =
        shares && from->shared > from->any ? from->shared : from->any;
    bool on = from->any > 0 && !(shares && from->shared == 0);
    bool long_enough = m->bytes >= least && m->bytes >= MGDS_HEADER_BYTES;

    return on && long_enough && m->exportable && m->dense ? by_peer[peer]
                                                          : MGDS_DIRECT_STAGE;
}

static void the_choice_is_the_rule(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
        for (unsigned k = 0; k < 4 * sizeof(thresholds) / sizeof(*thresholds);
             k++)
            for (int peer = 0; peer <= MGDS_DIRECT_PEER_SHARES; peer++) {
                struct mgds_direct_message message = {
                    .exportable = k & 1, .dense = k & 2, .bytes = lengths[i]};
                const struct mgds_direct_from *from = &thresholds[k / 4];
                enum mgds_direct_peer at = (enum mgds_direct_peer)peer;

                assert_int_equal(mgds_direct_choose(&message, at, from),
                                 expected(&message, at, from));
            }
}

/* A header that was matched at the instant 1000, when the receiver had made 7
 * passes: what it says since, what time it is, and whether to wait on. */
static void the_wait_ends_with_passes_or_time(void **state)
{
    const uint64_t inside = 1, pass = 2, ms = 1000000;
    const struct {
        uint64_t serving, after;
        bool due;
    } rows[] = {
        {7 * pass, 0, false},
        {7 * pass, ms - 1, false},
        {7 * pass, ms, true}, /* it computes, or sits in another call */
        {7 * pass | inside, ms, false},
        {7 * pass | inside, 50 * ms - 1, false},
        {7 * pass | inside, 50 * ms, true}, /* it was stopped */
        {8 * pass | inside, ms, false},     /* began before the match */
        {9 * pass | inside, 0, true},       /* has seen it, and left it */
        {9 * pass, 0, true},
        {8 * pass, ms - 1, false},
        {8 * pass, ms, true},
    };

    (void)state;
    for (unsigned was = 0; was <= inside; was++)
        for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
            const struct mgds_direct_wait wait = {1000, 7 * pass | was};

            assert_int_equal(mgds_direct_is_due(&wait, 1000 + rows[i].after,
                                                rows[i].serving, false),
                             rows[i].due);
        }
}

/* The same of one that nobody has matched, which is left no longer than that
 * it could be staged meanwhile. */
static void an_eager_send_waits_less(void **state)
{
    const uint64_t inside = 1, pass = 2, us = 1000;
    const struct {
        uint64_t serving, after;
        bool late;
    } rows[] = {
        {7 * pass, 50 * us - 1, false},
        {7 * pass, 50 * us, true},
        {7 * pass | inside, 50 * us, false}, /* it copies others */
        {7 * pass | inside, 1000 * us - 1, false},
        {7 * pass | inside, 1000 * us, true},
        {8 * pass | inside, 50 * us, false},
        {9 * pass | inside, 50 * us - 1, false}, /* may begin the receive yet */
        {9 * pass | inside, 50 * us, true},      /* has begun none */
        {9 * pass, 50 * us - 1, false},
        {9 * pass, 50 * us, true},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct mgds_direct_wait wait = {1000, 7 * pass};

        assert_int_equal(
            mgds_direct_is_late(&wait, 1000 + rows[i].after, rows[i].serving),
            rows[i].late);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_the_rule),
        cmocka_unit_test(the_wait_ends_with_passes_or_time),
        cmocka_unit_test(an_eager_send_waits_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
