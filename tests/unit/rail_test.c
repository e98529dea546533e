/* Opening a port: what is chosen of its tables, and what each failure is
 * called. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "shim/gds/hca/news.h"
#include "tests/unit/fake_verbs.h"

static int set_up(void **state)
{
    (void)state;
    fake_verbs_reset();
    return 0;
}

/* The port as an end would tell of it. */
static struct mgds_end_rail open_as(const struct mgds_rail_settings *settings)
{
    struct mgds_end_rail address;
    struct mgds_refusal refusal;
    struct mgds_rail *rail;

    assert_int_equal(mgds_rail_open_by(&rail, &fake_verbs_table, &fake_port,
                                       settings, &refusal),
                     0);
    mgds_rail_describe(rail, &address);
    mgds_rail_close(rail);
    assert_int_equal(fake_verbs.live, 0);
    return address;
}

static void assert_refused(const struct mgds_rail_settings *settings,
                           enum mgds_refusal_reason reason, int rc)
{
    struct mgds_refusal refusal = {0};
    struct mgds_rail *rail = NULL;

    assert_int_equal(mgds_rail_open_by(&rail, &fake_verbs_table, &fake_port,
                                       settings, &refusal),
                     rc);
    assert_int_equal(refusal.reason, reason);
    assert_null(rail);
    assert_int_equal(fake_verbs.live, 0);
}

static void a_port_is_as_verbs_says(void **state)
{
    struct mgds_end_rail address = open_as(&fake_settings);

    (void)state;
    assert_int_equal(address.link, MGDS_LINK_INFINIBAND);
    assert_int_equal(address.lid, 0x1234);
    assert_int_equal(address.mtu, IBV_MTU_4096);
    assert_int_equal(address.pkey, 0xffff); /* the first full member's */
    assert_int_equal(address.gid[15], 1);
}

static void every_failure_has_a_name(void **state)
{
    static const struct {
        const char *function;
        enum mgds_refusal_reason reason;
        int rc;
    } rows[] = {
        {"ibv_get_device_list", MGDS_REFUSAL_NO_DEVICE, -EPERM},
        {"mlx5dv_is_supported", MGDS_REFUSAL_NO_CONNECTX, -ENODEV},
        {"ibv_open_device", MGDS_REFUSAL_OPEN, -EPERM},
        {"query_port", MGDS_REFUSAL_PORT, -EINVAL},
        {"ibv_alloc_pd", MGDS_REFUSAL_DOMAIN, -EPERM},
    };

    (void)state;
    fake_verbs.error = EPERM;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake_verbs.fails = rows[i].function;
        assert_refused(&fake_settings, rows[i].reason, rows[i].rc);
    }
}

static void a_device_that_has_gone_is_none(void **state)
{
    struct mgds_port port = fake_port;
    struct mgds_refusal refusal;
    struct mgds_rail *rail;

    (void)state;
    strcpy(port.device, "fake_2");
    assert_int_equal(mgds_rail_open_by(&rail, &fake_verbs_table, &port,
                                       &fake_settings, &refusal),
                     -ENODEV);
    assert_int_equal(refusal.reason, MGDS_REFUSAL_NO_DEVICE);
    assert_int_equal(fake_verbs.live, 0);
}

static void a_port_may_be_down(void **state)
{
    (void)state;
    fake_verbs.port.state = IBV_PORT_DOWN;
    assert_refused(&fake_settings, MGDS_REFUSAL_PORT_DOWN, -ENOTSUP);
}

static void the_mtu_is_the_smaller_one(void **state)
{
    struct mgds_rail_settings settings = fake_settings;

    (void)state;
    settings.mtu = 1024;
    assert_int_equal(open_as(&settings).mtu, IBV_MTU_1024);
    fake_verbs.port.active_mtu = IBV_MTU_512;
    assert_int_equal(open_as(&settings).mtu, IBV_MTU_512);
    settings.mtu = 256;
    assert_int_equal(open_as(&settings).mtu, IBV_MTU_256);
}

/* Of a key that is set the membership does not count. */
static void a_partition_may_be_set(void **state)
{
    struct mgds_rail_settings settings = fake_settings;

    (void)state;
    settings.pkey = 0x0005;
    assert_int_equal(open_as(&settings).pkey, 0x8005);
    settings.pkey = 0x7fff;
    assert_int_equal(open_as(&settings).pkey, 0x7fff);
    settings.pkey = 0x0006;
    assert_refused(&settings, MGDS_REFUSAL_PKEY, -ENOTSUP);
}

/* RoCE: rows of v1 and of v2, with an empty one between them. */
static void a_gid_is_of_the_type_or_of_the_row(void **state)
{
    struct mgds_rail_settings settings = fake_settings;
    static const uint32_t types[FAKE_GIDS] = {
        IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2, IBV_GID_TYPE_ROCE_V1,
        IBV_GID_TYPE_ROCE_V2};

    (void)state;
    fake_verbs.port.link_layer = IBV_LINK_LAYER_ETHERNET;
    for (uint32_t i = 0; i < FAKE_GIDS; i++)
        fake_verbs.gids[i] =
            (struct ibv_gid_entry){.gid = {.raw = {[15] = (uint8_t)(i + 1)}},
                                   .port_num = i != 1,
                                   .gid_type = types[i]};
    assert_int_equal(open_as(&settings).gid[15], 4);
    settings.gid_type = MGDS_GID_V1;
    assert_int_equal(open_as(&settings).gid[15], 1);
    settings.gid_index = 2;
    assert_int_equal(open_as(&settings).gid[15], 3);
    settings.gid_index = 1;
    assert_refused(&settings, MGDS_REFUSAL_GID, -ENOTSUP);
}

static struct mgds_rail *open_with_events(const enum ibv_event_type *events,
                                          unsigned count)
{
    struct mgds_refusal refusal;
    struct mgds_rail *rail;

    assert_int_equal(mgds_rail_open_by(&rail, &fake_verbs_table, &fake_port,
                                       &fake_settings, &refusal),
                     0);
    memcpy(fake_verbs.events, events, count * sizeof(*events));
    fake_verbs.event_count = count;
    return rail;
}

static void events_have_kinds(void **state)
{
    static const struct {
        enum ibv_event_type event;
        enum mgds_news_kind kind;
        uint32_t qpn;
    } rows[] = {
        {IBV_EVENT_PORT_ERR, MGDS_NEWS_PORT_DOWN, 0},
        {IBV_EVENT_PORT_ACTIVE, MGDS_NEWS_PORT_UP, 0},
        {IBV_EVENT_QP_FATAL, MGDS_NEWS_QUEUE, FAKE_QPN},
        {IBV_EVENT_QP_ACCESS_ERR, MGDS_NEWS_QUEUE, FAKE_QPN},
        {IBV_EVENT_CQ_ERR, MGDS_NEWS_QUEUE, 0},
        {IBV_EVENT_DEVICE_FATAL, MGDS_NEWS_DEVICE, 0},
        {IBV_EVENT_LID_CHANGE, MGDS_NEWS_OTHER, 0},
    };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    enum ibv_event_type events[ROWS];
    struct mgds_rail *rail;
    struct mgds_news news;

    (void)state;
    for (unsigned i = 0; i < ROWS; i++)
        events[i] = rows[i].event;
    rail = open_with_events(events, ROWS);
    for (unsigned i = 0; i < ROWS; i++) {
        assert_int_equal(mgds_rail_hear(rail, &news), 1);
        assert_int_equal(news.kind, rows[i].kind);
        assert_int_equal(news.qpn, rows[i].qpn);
        assert_int_equal(fake_verbs.events_acked, i + 1);
    }
    assert_int_equal(mgds_rail_hear(rail, &news), 0);
    mgds_rail_close(rail);
}

static void the_other_port_is_none_of_ours(void **state)
{
    static const enum ibv_event_type events[] = {IBV_EVENT_PORT_ERR,
                                                 IBV_EVENT_QP_FATAL};
    struct mgds_rail *rail;
    struct mgds_news news;

    (void)state;
    rail = open_with_events(events, 2);
    fake_verbs.event_port = 2;
    assert_int_equal(mgds_rail_hear(rail, &news), 1);
    assert_int_equal(news.kind, MGDS_NEWS_QUEUE);
    assert_int_equal(fake_verbs.events_acked, 2);
    mgds_rail_close(rail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_port_is_as_verbs_says, set_up),
        cmocka_unit_test_setup(every_failure_has_a_name, set_up),
        cmocka_unit_test_setup(a_device_that_has_gone_is_none, set_up),
        cmocka_unit_test_setup(a_port_may_be_down, set_up),
        cmocka_unit_test_setup(the_mtu_is_the_smaller_one, set_up),
        cmocka_unit_test_setup(a_partition_may_be_set, set_up),
        cmocka_unit_test_setup(a_gid_is_of_the_type_or_of_the_row, set_up),
        cmocka_unit_test_setup(events_have_kinds, set_up),
        cmocka_unit_test_setup(the_other_port_is_none_of_ours, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
