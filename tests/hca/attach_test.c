/* Attaching and detaching: numbers, refusals, and memory that runs out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hca/piece.h"
#include "sim/hca/table.h"
#include "tests/hca/place.h"

/* How many allocations succeed before one fails; negative: all do. */
static int left = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size)
{
    return fails() ? NULL : __real_realloc(at, size);
}

/* Attaches one of everything to a device, as far as memory goes: how far. */
static int attach_all(const struct place *place, struct mgds_hca *hca)
{
    struct mgds_hca_cq_attr cq_attr = place->a.sends.cq->attr;
    struct mgds_hca_qp_attr qp_attr = place->a.qp->attr;
    struct mgds_hca_memory memory = {.at = place->a.memory, .bytes = 64};
    struct mgds_hca_uar *uar;
    struct mgds_hca_cq *cq;
    struct mgds_hca_qp *qp;
    uint32_t key;
    int steps = 0;

    if (mgds_hca_uar_attach(hca, place->b.page, &uar) < 0)
        return steps;
    steps++;
    cq_attr.uar = qp_attr.uar = uar;
    if (mgds_hca_cq_attach(hca, &cq_attr, &cq) < 0)
        goto detach_uar;
    steps++;
    qp_attr.send_cq = qp_attr.receive_cq = cq;
    if (mgds_hca_qp_attach(hca, &qp_attr, &qp) < 0)
        goto detach_cq;
    steps++;
    if (mgds_hca_key_attach(hca, &memory, &key) == 0)
        steps++;
    mgds_hca_qp_detach(qp);
detach_cq:
    assert_int_equal(mgds_hca_cq_detach(cq), 0);
detach_uar:
    assert_int_equal(mgds_hca_uar_detach(uar), 0);
    return steps;
}

static void every_allocation_may_fail(void **state)
{
    struct mgds_hca_config config = {.first_qpn = 0};
    struct mgds_hca *hca;
    struct place place;
    int steps = 0;

    (void)state;
    place_open(&place, NULL);
    for (int n = 0; steps < 4; n++) {
        left = n;
        if (mgds_hca_create(&hca, &config) == 0) {
            steps = attach_all(&place, hca);
            mgds_hca_destroy(hca);
        }
        left = -1;
        assert_true(n < 20);
    }
    place_close(&place);
}

static void numbers_come_back_late(void **state)
{
    struct mgds_hca_table table = {.slots = 0};
    int object;

    (void)state;
    for (uint32_t n = 3; n <= 40; n++) {
        assert_int_equal(mgds_hca_table_add(&table, &object, 3, 40), n);
        assert_ptr_equal(mgds_hca_table_find(&table, n), &object);
    }
    assert_int_equal(mgds_hca_table_add(&table, &object, 3, 40), 0);
    mgds_hca_table_drop(&table, 17);
    assert_null(mgds_hca_table_find(&table, 17));
    assert_int_equal(mgds_hca_table_add(&table, &object, 3, 40), 17);
    mgds_hca_table_drop(&table, 5);
    mgds_hca_table_drop(&table, 20);
    assert_int_equal(mgds_hca_table_add(&table, &object, 3, 40), 20);
    assert_null(mgds_hca_table_find(&table, 41));
    assert_null(mgds_hca_table_find(&table, UINT32_MAX));
    mgds_hca_table_fini(&table);
}

static void lists_are_copied_as_far_as_both_go(void **state)
{
    uint8_t to[16] = {0}, from[16];
    struct mgds_hca_list a, b;

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i + 1);
    mgds_hca_list_one(&a, to + 4, 3);
    mgds_hca_list_add(&a, to, 0);
    mgds_hca_list_add(&a, to + 9, 5);
    mgds_hca_list_one(&b, from, 5);
    mgds_hca_list_add(&b, from + 8, 1);
    mgds_hca_list_copy(&a, &b);
    assert_memory_equal(
        to, ((uint8_t[]){0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 9, 0, 0, 0, 0}), 16);
    mgds_hca_list_one(&a, to, 2);
    mgds_hca_list_copy(&a, &b);
    assert_memory_equal(to, ((uint8_t[]){1, 2, 0, 0, 1}), 5);
}

static void wrong_attributes_are_refused(void **state)
{
    struct mgds_hca_memory memory = {.access = MGDS_HCA_REMOTE_WRITE};
    struct place place;
    struct mgds_hca_cq_attr cq;
    struct mgds_hca_cq *new_cq;
    struct mgds_hca_qp *new_qp;
    struct mgds_hca_qp_attr qp;
    struct mgds_hca_uar *uar;
    uint32_t key;

    (void)state;
    place_open(&place, NULL);
    cq = place.a.sends.cq->attr;
    cq.entries = 3;
    assert_int_equal(mgds_hca_cq_attach(place.a.hca, &cq, &new_cq), -EINVAL);
    cq.entries = 4;
    cq.entry_bytes = 32;
    assert_int_equal(mgds_hca_cq_attach(place.a.hca, &cq, &new_cq), -EINVAL);
    qp = place.a.qp->attr;
    qp.send_blocks = 65536;
    assert_int_equal(mgds_hca_qp_attach(place.a.hca, &qp, &new_qp), -EINVAL);
    qp.send_blocks = 16;
    qp.receive_stride = 48;
    assert_int_equal(mgds_hca_qp_attach(place.a.hca, &qp, &new_qp), -EINVAL);
    assert_int_equal(mgds_hca_uar_attach(place.a.hca, place.a.page + 4, &uar),
                     -EINVAL);
    assert_int_equal(mgds_hca_key_attach(place.a.hca, &memory, &key), -EINVAL);
    memory.access = 0;
    memory.address = UINT64_MAX;
    memory.bytes = 2;
    assert_int_equal(mgds_hca_key_attach(place.a.hca, &memory, &key), -EINVAL);
    place_close(&place);
}

static void what_is_used_stays(void **state)
{
    struct place place;

    (void)state;
    place_open(&place, NULL);
    assert_int_equal(mgds_hca_cq_detach(place.a.sends.cq), -EBUSY);
    assert_int_equal(mgds_hca_uar_detach(place.a.uar), -EBUSY);
    assert_int_equal(mgds_hca_key_detach(place.a.hca, 0x300), -ENOENT);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(numbers_come_back_late),
        cmocka_unit_test(lists_are_copied_as_far_as_both_go),
        cmocka_unit_test(wrong_attributes_are_refused),
        cmocka_unit_test(what_is_used_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
