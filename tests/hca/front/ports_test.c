/* A device of two ports, with three GIDs each: QPs are at one of them. The row
 * that runs this has MPIX_SIM_HCA_PORTS=2 and MPIX_SIM_HCA_GIDS. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/hca/front/verbs_pair.h"

enum { GIDS = 3, RETRIES = 1 };

static int init_at(struct ibv_qp *qp, uint8_t port)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = port,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             IBV_QP_ACCESS_FLAGS);
}

/* The path from a port to one of the peer's device, by that row of its table.
 */
static struct ibv_qp_attr path(const struct verbs_side *peer, uint8_t from,
                               uint8_t to, int row)
{
    struct ibv_qp_attr attr = verbs_rtr(peer);
    struct ibv_port_attr port;

    assert_int_equal(ibv_query_port(peer->pd->context, to, &port), 0);
    assert_int_equal(
        ibv_query_gid(peer->pd->context, to, row, &attr.ah_attr.grh.dgid), 0);
    attr.ah_attr.dlid = port.lid;
    attr.ah_attr.port_num = from;
    attr.ah_attr.grh.sgid_index = (uint8_t)row;
    return attr;
}

static void connect_at(const struct verbs_side *side,
                       const struct verbs_side *peer, uint8_t from, uint8_t to,
                       int row)
{
    struct ibv_qp_attr attr = path(peer, from, to, row);

    assert_int_equal(init_at(side->qp, from), 0);
    assert_int_equal(ibv_modify_qp(side->qp, &attr, verbs_rtr_mask), 0);
    assert_int_equal(verbs_rts(side->qp, RETRIES), 0);
}

/* b is at its port, and a calls `called`. */
static enum ibv_wc_status write_between(uint8_t from, uint8_t called,
                                        uint8_t at, int row)
{
    struct ibv_context *context = verbs_open();
    struct verbs_pair pair = {.context = context};
    enum ibv_wc_status status;

    verbs_side_open(context, &pair.a);
    verbs_side_open(context, &pair.b);
    memset(pair.a.memory, 1 + from, 64);
    memset(pair.b.memory, 0, 64);
    connect_at(&pair.b, &pair.a, at, from, row);
    connect_at(&pair.a, &pair.b, from, called, row);
    verbs_write(&pair, 0, pair.b.mr->rkey, 0);
    status = verbs_wait(pair.a.cq).status;
    assert_int_equal(memcmp(pair.a.memory, pair.b.memory, 64) == 0,
                     status == IBV_WC_SUCCESS);
    verbs_pair_close(&pair);
    return status;
}

static void ports_reach_each_other(void **state)
{
    (void)state;
    for (uint8_t from = 1; from <= 2; from++) {
        for (uint8_t to = 1; to <= 2; to++) {
            for (int row = 0; row < GIDS; row++)
                assert_int_equal(write_between(from, to, to, row),
                                 IBV_WC_SUCCESS);
        }
    }
}

/* Its number is right, and the port is the other one. */
static void a_qp_hears_its_port_alone(void **state)
{
    (void)state;
    assert_int_equal(write_between(1, 2, 1, 0), IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(write_between(1, 1, 2, 0), IBV_WC_RETRY_EXC_ERR);
}

static void wrong_ports_are_refused(void **state)
{
    struct ibv_context *context = verbs_open();
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    struct verbs_side side;
    struct ibv_qp_attr attr;
    union ibv_gid gid;

    (void)state;
    assert_int_equal(ibv_query_device(context, &device), 0);
    assert_int_equal(device.phys_port_cnt, 2);
    assert_int_not_equal(ibv_query_port(context, 3, &port), 0);
    assert_int_equal(ibv_query_port(context, 2, &port), 0);
    assert_int_equal(port.gid_tbl_len, GIDS);
    assert_int_not_equal(ibv_query_gid(context, 2, GIDS, &gid), 0);
    verbs_side_open(context, &side);
    assert_int_equal(init_at(side.qp, 3), EINVAL);
    assert_int_equal(init_at(side.qp, 0), EINVAL);
    assert_int_equal(init_at(side.qp, 2), 0);
    attr = path(&side, 1, 2, 0); /* not where the QP is */
    assert_int_equal(ibv_modify_qp(side.qp, &attr, verbs_rtr_mask), EINVAL);
    attr = path(&side, 2, 2, 0);
    attr.ah_attr.grh.sgid_index = GIDS;
    assert_int_equal(ibv_modify_qp(side.qp, &attr, verbs_rtr_mask), EINVAL);
    attr.ah_attr.grh.sgid_index = GIDS - 1;
    assert_int_equal(ibv_modify_qp(side.qp, &attr, verbs_rtr_mask), 0);
    verbs_side_close(&side);
    ibv_close_device(context);
}

static void read_file(const char *name, char text[64])
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "/sys/class/infiniband/mlx5_0/ports/%s", name);
    file = fopen(path, "r");
    text[0] = '\0';
    if (!file)
        return;
    assert_non_null(fgets(text, 64, file));
    fclose(file);
}

static void sysfs_has_both(void **state)
{
    char one[64], two[64];

    (void)state;
    read_file("1/state", one);
    read_file("2/state", two);
    assert_string_equal(one, "4: ACTIVE\n");
    assert_string_equal(two, one);
    read_file("1/gids/2", one);
    read_file("2/gids/2", two);
    assert_memory_equal(one, "fd00:0000:0000:0000:0000:0000:0000:", 35);
    assert_memory_equal(two, one, 35);
    assert_string_not_equal(one, two);
    read_file("2/hw_counters/packet_seq_err", two);
    assert_string_equal(two, "0\n");
    read_file("3/state", two);
    assert_string_equal(two, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_reach_each_other),
        cmocka_unit_test(a_qp_hears_its_port_alone),
        cmocka_unit_test(wrong_ports_are_refused),
        cmocka_unit_test(sysfs_has_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
