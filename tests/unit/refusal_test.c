/* What users are told of refusals and of error CQEs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "device/abi_wqe.h"
#include "shim/gds/hca/refusal.h"
#include "shim/gds/hca/syndrome.h"

static void a_refusal_keeps_its_error(void **state)
{
    struct mgds_refusal refusal;

    (void)state;
    assert_int_equal(mgds_refuse(&refusal, MGDS_REFUSAL_OPEN, EACCES), -EACCES);
    assert_int_equal(refusal.reason, MGDS_REFUSAL_OPEN);
    assert_int_equal(refusal.error, EACCES);
    assert_int_equal(mgds_refuse(&refusal, MGDS_REFUSAL_LINKS, 0), -ENOTSUP);
    assert_int_equal(refusal.error, 0);
}

static void its_text_has_reason_error_and_remedy(void **state)
{
    struct mgds_refusal refusal = {MGDS_REFUSAL_QUEUE, ENOMEM};
    char text[MGDS_REFUSAL_TEXT];

    (void)state;
    assert_string_equal(mgds_refusal_text(&refusal, text),
                        "the device makes no queue (Cannot allocate memory): "
                        "raise the limit of locked memory: ulimit -l "
                        "unlimited");
    refusal = (struct mgds_refusal){MGDS_REFUSAL_NO_DEVICE, 0};
    assert_string_equal(mgds_refusal_text(&refusal, text),
                        "there is no RDMA device");
}

/* No text is cut, even behind a long error. */
static void every_text_has_room(void **state)
{
    static const enum mgds_refusal_reason reasons[] = {
#define MGDS_REFUSAL(name, why, remedy) MGDS_REFUSAL_##name,
#include "shim/gds/hca/refusals.def"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        struct mgds_refusal refusal = {reasons[i], EILSEQ};
        char text[MGDS_REFUSAL_TEXT];

        assert_true(strlen(mgds_refusal_text(&refusal, text)) + 1 <
                    sizeof(text));
    }
}

static void every_syndrome_has_a_text(void **state)
{
    unsigned known = 0;

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        known += strcmp(mgds_syndrome_text((uint8_t)i), "unknown error") != 0;
    assert_int_equal(known, 13);
    assert_non_null(strstr(mgds_syndrome_text(MGDS_SYNDROME_REMOTE_ACCESS),
                           "remote access error"));
    assert_non_null(
        strstr(mgds_syndrome_text(MGDS_SYNDROME_RETRY_EXCEEDED), "peer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_keeps_its_error),
        cmocka_unit_test(its_text_has_reason_error_and_remedy),
        cmocka_unit_test(every_text_has_room),
        cmocka_unit_test(every_syndrome_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
