/* Frames of ends, and what two of them agree on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/hca/end.h"

enum { ROUNDS = 200000 };

static const struct mgds_end two = {
    .rails = 2,
    .rail = {{.qpn = 0x123456,
              .psn = 0xfedcba,
              .lid = 0x1122,
              .pkey = 0xffff,
              .mtu = 5,
              .link = MGDS_LINK_INFINIBAND,
              .gid = {0xfe, 0x80, [15] = 1}},
             {.qpn = 0x42,
              .psn = 0,
              .lid = 0x3344,
              .pkey = 0xffff,
              .mtu = 3,
              .link = MGDS_LINK_INFINIBAND,
              .gid = {0xfe, 0x80, [15] = 2}}},
};

static void assert_refused(const uint8_t *frame, size_t bytes,
                           enum mgds_refusal_reason reason)
{
    struct mgds_refusal refusal = {0};
    struct mgds_end end;

    assert_int_equal(mgds_end_unpack(&end, frame, bytes, &refusal), -EPROTO);
    assert_int_equal(refusal.reason, reason);
}

/* The bytes are what other versions read. */
static void a_frame_is_what_it_is(void **state)
{
    static const uint8_t first[] = {'m',  'g',  'd',  's',  1,    2,    0,
                                    0,    0x56, 0x34, 0x12, 0,    0xba, 0xdc,
                                    0xfe, 0,    0x22, 0x11, 0xff, 0xff, 5,
                                    1,    0,    0,    0xfe, 0x80};
    uint8_t frame[MGDS_END_BYTES];
    struct mgds_refusal refusal;
    struct mgds_end end;

    (void)state;
    assert_int_equal(MGDS_END_BYTES, 136);
    mgds_end_pack(&two, frame);
    assert_memory_equal(frame, first, sizeof(first));
    assert_int_equal(frame[39], 1);
    assert_int_equal(frame[MGDS_END_BYTES - 1], 0);
    assert_int_equal(mgds_end_unpack(&end, frame, sizeof(frame), &refusal), 0);
    assert_memory_equal(&end, &two, sizeof(two));
}

static void a_frame_may_be_nonsense(void **state)
{
    uint8_t frame[MGDS_END_BYTES];
    static const struct {
        unsigned at;
        uint8_t byte;
        enum mgds_refusal_reason reason;
    } rows[] = {
        {0, 'M', MGDS_REFUSAL_FRAME}, {4, 2, MGDS_REFUSAL_VERSION},
        {5, 0, MGDS_REFUSAL_FRAME},   {5, 5, MGDS_REFUSAL_FRAME},
        {5, 3, MGDS_REFUSAL_FRAME},   {11, 1, MGDS_REFUSAL_FRAME},
        {15, 1, MGDS_REFUSAL_FRAME},  {20, 0, MGDS_REFUSAL_FRAME},
        {20, 6, MGDS_REFUSAL_FRAME},  {21, 0, MGDS_REFUSAL_FRAME},
        {21, 3, MGDS_REFUSAL_FRAME},  {21, 0xff, MGDS_REFUSAL_FRAME},
    };

    (void)state;
    mgds_end_pack(&two, frame);
    assert_refused(frame, sizeof(frame) - 1, MGDS_REFUSAL_FRAME);
    assert_refused(frame, 0, MGDS_REFUSAL_FRAME);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mgds_end_pack(&two, frame);
        frame[rows[i].at] = rows[i].byte;
        assert_refused(frame, sizeof(frame), rows[i].reason);
    }
}

/* Whatever is understood can be told again, and is the same then. */
static void random_frames_are_understood_or_refused(void **state)
{
    (void)state;
    srandom(17);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint8_t frame[MGDS_END_BYTES], again[MGDS_END_BYTES];
        struct mgds_refusal refusal;
        struct mgds_end end, same;

        mgds_end_pack(&two, frame);
        for (unsigned k = 0; k < 4; k++)
            frame[random() % 40] = (uint8_t)random();
        if (mgds_end_unpack(&end, frame, sizeof(frame), &refusal) < 0)
            continue;
        mgds_end_pack(&end, again);
        assert_int_equal(mgds_end_unpack(&same, again, sizeof(again), &refusal),
                         0);
        assert_memory_equal(&same, &end, sizeof(end));
    }
}

static void rails_and_mtus_are_the_smaller_ones(void **state)
{
    struct mgds_end one = two;
    struct mgds_refusal refusal;
    struct mgds_terms terms, others;

    (void)state;
    one.rails = 1;
    one.rail[0].mtu = 4;
    assert_int_equal(mgds_end_agree(&one, &two, &terms, &refusal), 0);
    assert_int_equal(mgds_end_agree(&two, &one, &others, &refusal), 0);
    assert_int_equal(terms.rails, 1);
    assert_int_equal(terms.mtu[0], 4);
    assert_int_equal(others.rails, 1);
    assert_int_equal(others.mtu[0], 4);
    assert_int_equal(mgds_end_agree(&two, &two, &terms, &refusal), 0);
    assert_int_equal(terms.rails, 2);
    assert_int_equal(terms.mtu[1], 3);
}

/* Both ends find the same reason. */
static void assert_no_terms(const struct mgds_end *a, const struct mgds_end *b,
                            enum mgds_refusal_reason reason)
{
    struct mgds_refusal refusal = {0}, other = {0};
    struct mgds_terms terms;

    assert_int_equal(mgds_end_agree(a, b, &terms, &refusal), -ENOTSUP);
    assert_int_equal(mgds_end_agree(b, a, &terms, &other), -ENOTSUP);
    assert_int_equal(refusal.reason, reason);
    assert_int_equal(other.reason, reason);
}

static void unlike_ends_have_no_terms(void **state)
{
    struct mgds_end other = two, limited;

    (void)state;
    other.rail[1].link = MGDS_LINK_ETHERNET;
    assert_no_terms(&two, &other, MGDS_REFUSAL_LINKS);
    other = two;
    other.rail[0].pkey = 0x8001;
    assert_no_terms(&two, &other, MGDS_REFUSAL_PKEYS);
    other = two;
    other.rail[0].lid = 0;
    memset(other.rail[0].gid, 0, sizeof(other.rail[0].gid));
    assert_no_terms(&two, &other, MGDS_REFUSAL_NO_ADDRESS);
    other.rail[0].lid = 5;
    other.rail[0].link = MGDS_LINK_ETHERNET;
    limited = other;
    assert_no_terms(&limited, &other, MGDS_REFUSAL_NO_ADDRESS);
}

/* Limited members of a partition talk to full ones alone. */
static void one_of_two_is_a_full_member(void **state)
{
    struct mgds_end limited = two;
    struct mgds_refusal refusal;
    struct mgds_terms terms;

    (void)state;
    limited.rail[0].pkey = limited.rail[1].pkey = 0x7fff;
    assert_int_equal(mgds_end_agree(&two, &limited, &terms, &refusal), 0);
    assert_no_terms(&limited, &limited, MGDS_REFUSAL_PKEYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_what_it_is),
        cmocka_unit_test(a_frame_may_be_nonsense),
        cmocka_unit_test(random_frames_are_understood_or_refused),
        cmocka_unit_test(rails_and_mtus_are_the_smaller_ones),
        cmocka_unit_test(unlike_ends_have_no_terms),
        cmocka_unit_test(one_of_two_is_a_full_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
