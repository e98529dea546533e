/* The board by which messages that travel by header end: two views of it, as
 * two processes have them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/direct/board.h"

enum { RANKS = 5 };

static struct {
    struct mgds_board *own, *theirs;
} two;

static int open_two(void **state)
{
    struct mgds_board_place place;

    (void)state;
    if (mgds_board_create(&two.own, RANKS) < 0)
        return -1;
    place = mgds_board_place(two.own);
    return mgds_board_open(&two.theirs, &place, RANKS);
}

static int close_two(void **state)
{
    (void)state;
    mgds_board_close(two.theirs);
    mgds_board_close(two.own);
    mgds_board_close(NULL);
    return 0;
}

static bool move(struct mgds_board *board, int slot, uint64_t serial,
                 enum mgds_slot_state from, enum mgds_slot_state to)
{
    return mgds_board_move(board, (unsigned)slot, serial, from, to);
}

static void a_slot_is_taken_once(void **state)
{
    uint64_t serial;
    int slot = mgds_board_offer(two.own, &serial);

    (void)state;
    assert_true(slot >= 0);
    assert_true(
        move(two.theirs, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_TAKEN));
    assert_false(
        move(two.theirs, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_TAKEN));
    assert_false(
        move(two.own, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_WITHDRAWN));
    assert_int_equal(mgds_board_state(two.own, (unsigned)slot, serial),
                     MGDS_SLOT_TAKEN);
    assert_true(
        move(two.theirs, slot, serial, MGDS_SLOT_TAKEN, MGDS_SLOT_DONE));
    assert_int_equal(mgds_board_state(two.own, (unsigned)slot, serial),
                     MGDS_SLOT_DONE);
    mgds_board_free(two.own, (unsigned)slot);
}

static void a_withdrawn_slot_is_not_taken(void **state)
{
    uint64_t serial;
    int slot = mgds_board_offer(two.own, &serial);

    (void)state;
    assert_true(
        move(two.own, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_WITHDRAWN));
    assert_false(
        move(two.theirs, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_TAKEN));
    assert_true(
        move(two.theirs, slot, serial, MGDS_SLOT_WITHDRAWN, MGDS_SLOT_FETCHED));
    assert_false(
        move(two.theirs, slot, serial, MGDS_SLOT_WITHDRAWN, MGDS_SLOT_FETCHED));
    mgds_board_free(two.own, (unsigned)slot);
}

/* A slot leaves REFUSED by either way, and by no move that fails. */
static void refused_slots_are_counted(void **state)
{
    static const enum mgds_slot_state ends[] = {MGDS_SLOT_WITHDRAWN,
                                                MGDS_SLOT_FAILED};

    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t serial;
        int slot = mgds_board_offer(two.own, &serial);

        assert_false(mgds_board_has_refused(two.own));
        assert_false(
            move(two.theirs, slot, serial, MGDS_SLOT_TAKEN, MGDS_SLOT_REFUSED));
        assert_false(mgds_board_has_refused(two.own));
        move(two.theirs, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_TAKEN);
        move(two.theirs, slot, serial, MGDS_SLOT_TAKEN, MGDS_SLOT_REFUSED);
        assert_true(mgds_board_has_refused(two.own));
        assert_false(
            move(two.own, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_FAILED));
        assert_true(mgds_board_has_refused(two.own));
        assert_true(move(two.own, slot, serial, MGDS_SLOT_REFUSED, ends[i]));
        assert_false(mgds_board_has_refused(two.own));
        mgds_board_free(two.own, (unsigned)slot);
    }
}

static void an_old_serial_finds_nothing(void **state)
{
    uint64_t serial;
    int slot = mgds_board_offer(two.own, &serial);

    (void)state;
    mgds_board_free(two.own, (unsigned)slot);
    assert_int_equal(mgds_board_state(two.theirs, (unsigned)slot, serial),
                     MGDS_SLOT_FREE);
    assert_false(
        move(two.theirs, slot, serial, MGDS_SLOT_OFFERED, MGDS_SLOT_TAKEN));
    assert_int_equal(mgds_board_state(two.theirs, MGDS_BOARD_SLOTS, serial),
                     MGDS_SLOT_FREE);
    assert_false(move(two.theirs, MGDS_BOARD_SLOTS, serial, MGDS_SLOT_OFFERED,
                      MGDS_SLOT_TAKEN));
}

static void slots_run_out_and_come_back(void **state)
{
    unsigned char used[MGDS_BOARD_SLOTS] = {0};
    uint64_t serial, last = 0;
    int slot;

    (void)state;
    for (unsigned i = 0; i < MGDS_BOARD_SLOTS; i++) {
        slot = mgds_board_offer(two.own, &serial);
        assert_true(slot >= 0 && !used[slot] && serial > last);
        used[slot] = 1;
        last = serial;
    }
    assert_int_equal(mgds_board_offer(two.own, &serial), -ENOSPC);
    mgds_board_free(two.own, 7);
    assert_int_equal(mgds_board_offer(two.own, &serial), 7);
    for (unsigned i = 0; i < MGDS_BOARD_SLOTS; i++)
        mgds_board_free(two.own, i);
}

static void samples_are_found_and_shown_mapped(void **state)
{
    struct mgds_board_sample sample, found;

    (void)state;
    memset(&sample, 0x17, sizeof(sample));
    memset(&sample.gpu, 0x29, sizeof(sample.gpu));
    assert_false(mgds_board_find_sample(two.theirs, 3, &found));
    assert_int_equal(mgds_board_samples(two.theirs), 0);
    mgds_board_post_sample(two.own, 3, &sample);
    assert_int_equal(mgds_board_samples(two.theirs), 1u << 3);
    assert_true(mgds_board_find_sample(two.theirs, 3, &found));
    assert_memory_equal(&found, &sample, sizeof(sample));
    assert_false(
        mgds_board_find_sample(two.theirs, MGDS_BOARD_DEVICES, &found));
    mgds_board_show_mapped(two.theirs, 4, 3, false);
    mgds_board_show_mapped(two.theirs, 2, 3, true);
    assert_true(mgds_board_is_mapped(two.own, 4, 3));
    assert_false(mgds_board_is_shared(two.own, 4, 3));
    assert_true(mgds_board_is_mapped(two.own, 2, 3));
    assert_true(mgds_board_is_shared(two.own, 2, 3));
    assert_false(mgds_board_is_shared(two.own, 2, 2));
    assert_false(mgds_board_is_mapped(two.own, 4, 2));
    assert_false(mgds_board_is_mapped(two.own, 3, 3));
    mgds_board_hide_mapped(two.theirs, 4, 2);
    assert_true(mgds_board_is_mapped(two.own, 4, 3));
    mgds_board_hide_mapped(two.theirs, 4, 3);
    assert_false(mgds_board_is_mapped(two.own, 4, 3));
    mgds_board_show_mapped(two.theirs, RANKS, 3, true);
    assert_false(mgds_board_is_mapped(two.own, RANKS, 3));
    assert_false(mgds_board_is_shared(two.own, RANKS, 3));
}

static void what_is_no_board_is_not_opened(void **state)
{
    struct mgds_board_place place = mgds_board_place(two.own);
    struct mgds_board *other;

    (void)state;
    assert_true(mgds_board_open(&other, &place, RANKS + 1) < 0);
    place.inode++;
    assert_true(mgds_board_open(&other, &place, RANKS) < 0);
    place = (struct mgds_board_place){0};
    assert_true(mgds_board_open(&other, &place, RANKS) < 0);
}

static void service_is_seen_by_others_with_its_passes(void **state)
{
    uint64_t before = mgds_board_serving(two.theirs);

    (void)state;
    assert_int_equal(before & 1, 0);
    mgds_board_serve(two.own, true);
    mgds_board_serve(two.own, true); /* a handler's call, inside of another */
    assert_int_equal(mgds_board_serving(two.theirs), before | 1);
    mgds_board_pass(two.own);
    assert_int_equal(mgds_board_serving(two.theirs), (before + 2) | 1);
    mgds_board_serve(two.own, false);
    mgds_board_serve(two.own, false);
    assert_int_equal(mgds_board_serving(two.theirs), before + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_is_taken_once),
        cmocka_unit_test(service_is_seen_by_others_with_its_passes),
        cmocka_unit_test(a_withdrawn_slot_is_not_taken),
        cmocka_unit_test(refused_slots_are_counted),
        cmocka_unit_test(an_old_serial_finds_nothing),
        cmocka_unit_test(slots_run_out_and_come_back),
        cmocka_unit_test(samples_are_found_and_shown_mapped),
        cmocka_unit_test(what_is_no_board_is_not_opened),
    };

    return cmocka_run_group_tests(tests, open_two, close_two);
}
