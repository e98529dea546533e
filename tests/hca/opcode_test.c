/* Every operation, from WQE bytes to payload and CQE. */
#include <string.h>

#include "tests/hca/place.h"

/* The worked example of the formats' description: a WRITE of 4096 bytes by QP
 * 0x123, index 5. */
static void write_has_the_documented_bytes(void **state)
{
    static const uint8_t golden[] = {
        0x00, 0x00, 0x05, 0x08, 0x00, 0x01, 0x23, 0x03, /* ctrl */
        0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, /* signalled */
        0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x01, 0x00, /* remote address */
        0x00, 0x00, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00, /* rkey */
        0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x02, 0x01, /* bytes, lkey */
        0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x02, 0x00, /* local address */
    };
    struct place place;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    assert_int_equal(place.a.key, 0x201);
    assert_int_equal(place.b.key, 0x201);
    for (int i = 0; i < 5; i++) {
        struct wqe nop = wqe_ctrl(&place.a, 0x00, 0);
        run_one(&place.a, &nop);
    }
    post_bytes(&place.a, golden, sizeof(golden));
    ring(&place.a);
    place_run(&place);
    assert_memory_equal(place.b.memory + 0x100, place.a.memory + 0x200, 4096);
    cqe = expect_cqe(&place.a.sends, 0, 5);
    assert_int_equal(cqe.wqe_opcode, 0x08);
    assert_int_equal(cqe.qpn, PLACE_QPN_A);
    expect_none(&place.a.sends);
    expect_none(&place.b.receives);
    place_close(&place);
}

static void write_gathers_its_elements(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_write(&place.a, 0, 5);
    wqe_data(&wqe, 300, place.a.key, place_address(&place.a, 1000));
    wqe_data(&wqe, 1, place.a.key, place_address(&place.a, 77));
    run_one(&place.a, &wqe);
    assert_memory_equal(place.b.memory, place.a.memory, 5);
    assert_memory_equal(place.b.memory + 5, place.a.memory + 1000, 300);
    assert_int_equal(place.b.memory[305], place.a.memory[77]);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

static void write_of_nothing_needs_no_key(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
    wqe_raddr(&wqe, 12345, 0xdead00);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

static void write_with_immediate_takes_a_receive(void **state)
{
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    post_receive(&place.b, 0, 0x100); /* its memory is not touched */
    wqe = wqe_write(&place.a, 0x400, 64);
    wqe.at[3] = 0x09;
    memcpy(wqe.at + 12, "\x12\x34\x56\x78", 4);
    wqe.at[11] |= 0x02; /* solicited */
    run_one(&place.a, &wqe);
    assert_memory_equal(place.b.memory + 0x400, place.a.memory + 0x400, 64);
    cqe = expect_cqe(&place.b.receives, 1, 0);
    assert_int_equal(cqe.imm, 0x12345678);
    assert_int_equal(cqe.bytes, 64);
    assert_int_equal(cqe.qpn, PLACE_QPN_B);
    assert_int_equal(cqe.peer, PLACE_QPN_A);
    assert_true(cqe.solicited);
    assert_int_equal(expect_cqe(&place.a.sends, 0, 0).wqe_opcode, 0x09);
    place_close(&place);
}

/* An empty list of a receive, as GPU programs post them. */
static void write_with_immediate_takes_an_empty_receive(void **state)
{
    static const uint8_t empty[16] = {[6] = 0x01};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    post_receive_bytes(&place.b, empty, sizeof(empty));
    wqe = wqe_write(&place.a, 0, 8);
    wqe.at[3] = 0x09;
    run_one(&place.a, &wqe);
    expect_cqe(&place.b.receives, 1, 0);
    place_close(&place);
}

static void send_scatters_into_the_receive(void **state)
{
    struct wqe list = {.bytes = 0};
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    wqe_data(&list, 10, place.b.key, place_address(&place.b, 0x300));
    wqe_data(&list, 20, place.b.key, place_address(&place.b, 0x100));
    wqe_data(&list, 70, place.b.key, place_address(&place.b, 0x200));
    wqe_data(&list, 0, 0x100, 0);
    post_receive_bytes(&place.b, list.at, list.bytes);
    wqe = wqe_send(&place.a, 0x800, 50);
    run_one(&place.a, &wqe);
    assert_memory_equal(place.b.memory + 0x300, place.a.memory + 0x800, 10);
    assert_memory_equal(place.b.memory + 0x100, place.a.memory + 0x80a, 20);
    assert_memory_equal(place.b.memory + 0x200, place.a.memory + 0x81e, 20);
    cqe = expect_cqe(&place.b.receives, 2, 0);
    assert_int_equal(cqe.bytes, 50);
    assert_false(cqe.solicited);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

static void send_with_immediate_shows_it(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    post_receive(&place.b, 0, 16);
    wqe = wqe_ctrl(&place.a, 0x0b, SIGNALLED);
    memcpy(wqe.at + 12, "\xca\xfe\x00\x01", 4);
    wqe_inline(&wqe, "sixteen bytes..", 16);
    run_one(&place.a, &wqe);
    assert_string_equal((char *)place.b.memory, "sixteen bytes..");
    assert_int_equal(expect_cqe(&place.b.receives, 3, 0).imm, 0xcafe0001);
    expect_cqe(&place.a.sends, 0, 0);
    place_close(&place);
}

static void read_scatters_what_comes_back(void **state)
{
    struct place place;
    struct wqe wqe;
    struct cqe cqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_read(&place.a, 0x40, 100);
    wqe_data(&wqe, 3, place.a.key, place_address(&place.a, 0x1001));
    run_one(&place.a, &wqe);
    assert_memory_equal(place.a.memory + 0x40, place.b.memory + 0x40, 100);
    assert_memory_equal(place.a.memory + 0x1001, place.b.memory + 0x40 + 100,
                        3);
    cqe = expect_cqe(&place.a.sends, 0, 0);
    assert_int_equal(cqe.wqe_opcode, 0x10);
    assert_int_equal(cqe.bytes, 103);
    place_close(&place);
}

static struct wqe atomic(struct place *place, uint8_t opcode, uint64_t operand,
                         uint64_t compare)
{
    struct wqe wqe = wqe_ctrl(&place->a, opcode, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->b, 64), place->b.key);
    wqe_atomic(&wqe, operand, compare);
    wqe_data(&wqe, 8, place->a.key, place_address(&place->a, 8));
    return wqe;
}

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

static void fetch_add_returns_the_old_value(void **state)
{
    uint64_t start = 41;
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    memcpy(place.b.memory + 64, &start, sizeof(start));
    wqe = atomic(&place, 0x12, UINT64_C(0x100000001), 0);
    run_one(&place.a, &wqe);
    assert_int_equal(word_at(place.a.memory + 8), 41);
    assert_int_equal(word_at(place.b.memory + 64), UINT64_C(0x10000002a));
    assert_int_equal(expect_cqe(&place.a.sends, 0, 0).bytes, 8);
    place_close(&place);
}

static void compare_swap_swaps_if_equal(void **state)
{
    uint64_t start = 41;
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    memcpy(place.b.memory + 64, &start, sizeof(start));
    wqe = atomic(&place, 0x11, 99, 40);
    run_one(&place.a, &wqe);
    assert_int_equal(word_at(place.a.memory + 8), 41);
    assert_int_equal(word_at(place.b.memory + 64), 41);
    wqe = atomic(&place, 0x11, 99, 41);
    run_one(&place.a, &wqe);
    assert_int_equal(word_at(place.a.memory + 8), 41);
    assert_int_equal(word_at(place.b.memory + 64), 99);
    expect_cqe(&place.a.sends, 0, 0);
    expect_cqe(&place.a.sends, 0, 1);
    place_close(&place);
}

/* A masked atomic as bytes behind raddr, on a word of `bytes` bytes. */
struct masked {
    uint8_t opcode;
    uint8_t opmod;
    uint8_t bytes;
    uint8_t segment[32];
    uint64_t before;
    uint64_t after;
};

static const struct masked masked_rows[] = {
    /* add 1, no boundary: carries through 32 bits, and no further */
    {0x15, 8, 4, {0, 0, 0, 1}, 0x11111111ffffffff, 0x1111111100000000},
    /* boundary at bit 15: the lower half does not carry into the upper one */
    {0x15, 8, 4, {0, 1, 0, 1, 0, 0, 0x80, 0}, 0x0002ffff, 0x00030000},
    /* all bits are boundaries: exclusive or */
    {0x15,
     9,
     8,
     {0x0f, 0, 0, 0, 0, 0, 0, 0xf0, 255, 255, 255, 255, 255, 255, 255, 255},
     0xff000000000000ff,
     0xf00000000000000f},
    {0x15, 9, 8, {0, 0, 0, 1}, 0xffffffff, 0x1ffffffff},
    /* swap the low byte if the high byte is 0x12 */
    {0x14,
     8,
     4,
     {0, 0, 0, 0x77, 0x12, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0},
     0x12345678,
     0x12345677},
    {0x14,
     8,
     4,
     {0, 0, 0, 0x77, 0x13, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0},
     0x12345678,
     0x12345678},
    /* compare nothing: a plain swap; the segment has two units */
    {0x14,
     9,
     8,
     {1, 2, 3, 4, 5,   6,   7,   8,   0,   0,   0,   0,
      0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255},
     42,
     0x0102030405060708},
    {0x14,
     9,
     8,
     {0,   0,   0,   0,   0,   0,   0,   5,   0, 0, 0, 0, 0, 0, 0, 43,
      255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 2},
     41,
     41},
};

static void run_masked(const struct masked *row, bool packets)
{
    struct options options = {.packets = packets};
    size_t bytes = row->opcode == 0x14 && row->bytes == 8 ? 32 : 16;
    struct place place;
    struct wqe wqe;

    place_open(&place, &options);
    memset(place.a.memory, 0, 16);
    memcpy(place.b.memory + 64, &row->before, sizeof(row->before));
    wqe = wqe_ctrl(&place.a, row->opcode, SIGNALLED);
    wqe.at[0] = row->opmod;
    wqe_raddr(&wqe, place_address(&place.b, 64), place.b.key);
    memcpy(wqe.at + wqe.bytes, row->segment, bytes);
    wqe.bytes += bytes;
    wqe_data(&wqe, row->bytes, place.a.key, place_address(&place.a, 8));
    run_one(&place.a, &wqe);
    assert_int_equal(expect_cqe(&place.a.sends, 0, 0).bytes, row->bytes);
    assert_int_equal(word_at(place.b.memory + 64), row->after);
    assert_memory_equal(place.a.memory + 8, &row->before, row->bytes);
    place_close(&place);
}

static void masked_atomics_change_some_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(masked_rows) / sizeof(masked_rows[0]); i++) {
        run_masked(&masked_rows[i], false);
        run_masked(&masked_rows[i], true);
    }
}

static void nop_takes_the_size_it_says(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_ctrl(&place.a, 0x00, SIGNALLED);
    run_one(&place.a, &wqe);
    wqe = wqe_ctrl(&place.a, 0x00, SIGNALLED);
    for (int i = 0; i < 8; i++)
        wqe_be64(&wqe, UINT64_MAX); /* nobody reads that */
    run_one(&place.a, &wqe);
    wqe = wqe_write(&place.a, 0, 8);
    run_one(&place.a, &wqe);
    assert_int_equal(expect_cqe(&place.a.sends, 0, 0).wqe_opcode, 0x00);
    expect_cqe(&place.a.sends, 0, 1);
    expect_cqe(&place.a.sends, 0, 3);
    place_close(&place);
}

static void dump_checks_its_memory_alone(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_ctrl(&place.a, 0x23, SIGNALLED | 2 << 5);
    wqe_data(&wqe, 1, place.a.key, place_address(&place.a, 0));
    run_one(&place.a, &wqe);
    assert_int_equal(expect_cqe(&place.a.sends, 0, 0).wqe_opcode, 0x23);
    wqe = wqe_ctrl(&place.a, 0x23, SIGNALLED);
    wqe_data(&wqe, 1, place.a.key + 1, place_address(&place.a, 0));
    run_one(&place.a, &wqe);
    expect_error(&place.a.sends, 0x04, 1);
    place_close(&place);
}

static void both_sides_are_requesters(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_write(&place.b, 0, 4096);
    run_one(&place.b, &wqe);
    assert_memory_equal(place.a.memory, place.b.memory, 4096);
    expect_cqe(&place.b.sends, 0, 0);
    place_close(&place);
}

/* A row of the table without a test here, or in window_test.c (0x01, 0x25). */
static void every_opcode_is_tested(void **state)
{
    static const uint8_t tested[] = {0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10,
                                     0x11, 0x12, 0x14, 0x15, 0x23, 0x25};
    unsigned known = 0;

    (void)state;
    for (int opcode = 0; opcode < 256; opcode++)
        known += mgds_hca_opcode((uint8_t)opcode)->name != NULL;
    for (size_t i = 0; i < sizeof(tested); i++)
        assert_non_null(mgds_hca_opcode(tested[i])->name);
    assert_int_equal(known, sizeof(tested));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_has_the_documented_bytes),
        cmocka_unit_test(write_gathers_its_elements),
        cmocka_unit_test(write_of_nothing_needs_no_key),
        cmocka_unit_test(write_with_immediate_takes_a_receive),
        cmocka_unit_test(write_with_immediate_takes_an_empty_receive),
        cmocka_unit_test(send_scatters_into_the_receive),
        cmocka_unit_test(send_with_immediate_shows_it),
        cmocka_unit_test(read_scatters_what_comes_back),
        cmocka_unit_test(fetch_add_returns_the_old_value),
        cmocka_unit_test(compare_swap_swaps_if_equal),
        cmocka_unit_test(masked_atomics_change_some_bits),
        cmocka_unit_test(nop_takes_the_size_it_says),
        cmocka_unit_test(dump_checks_its_memory_alone),
        cmocka_unit_test(both_sides_are_requesters),
        cmocka_unit_test(every_opcode_is_tested),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
