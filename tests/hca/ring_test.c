/* Rings and their ends: indices that wrap, laps of CQs, inline data at every
 * place, collapsed CQs, CQEs of 128 bytes. */
#include <string.h>

#include "tests/hca/place.h"

static void indices_wrap_at_16_bits(void **state)
{
    struct options options = {.blocks = 4, .entries = 4};
    struct place place;
    struct wqe wqe;
    uint32_t posted = 0;

    (void)state;
    place_open(&place, &options);
    for (; posted < 0x10000 + 9; posted++) {
        wqe = wqe_write(&place.a, posted % 4096, 8);
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, (uint16_t)posted);
    }
    assert_memory_equal(place.b.memory, place.a.memory, 4096);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

/* Receives count on their own, and wrap as well. */
static void receives_wrap_at_16_bits(void **state)
{
    struct options options = {.blocks = 2, .entries = 2};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (uint32_t posted = 0; posted < 0x10000 + 9; posted++) {
        post_receive(&place.b, 0, 16);
        wqe = wqe_send(&place.a, posted % 1024, 16);
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, (uint16_t)posted);
        expect_cqe(&place.b.receives, 2, (uint16_t)posted);
        assert_memory_equal(place.b.memory, place.a.memory + posted % 1024, 16);
    }
    place_close(&place);
}

/* Bursts as long as the ring, of WQEs that take two blocks. */
static void bursts_fill_the_ring(void **state)
{
    struct options options = {.blocks = 8, .entries = 4};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (unsigned lap = 0; lap < 50; lap++) {
        for (unsigned i = 0; i < 4; i++) {
            wqe = wqe_write(&place.a, 0, 8);
            for (unsigned k = 0; k < 4; k++)
                wqe_data(&wqe, 8, place.a.key, place_address(&place.a, 64));
            post(&place.a, &wqe);
        }
        ring(&place.a);
        place_run(&place);
        for (unsigned i = 0; i < 4; i++)
            expect_cqe(&place.a.sends, 0, (uint16_t)(8 * lap + 2 * i));
        expect_none(&place.a.sends);
    }
    place_close(&place);
}

/* The owner bit and the rest of each CQE as bytes, over five laps. */
static void owner_is_the_lap_of_the_queue(void **state)
{
    struct options options = {.entries = 4, .entry_bytes = 128};
    struct place place;
    struct wqe wqe;
    const uint8_t *at;

    (void)state;
    place_open(&place, &options);
    for (size_t n = 0; n < 20; n++) {
        wqe = wqe_write(&place.a, 0, 8);
        run_one(&place.a, &wqe);
        at = place.a.sends.buffer + n % 4 * 128;
        assert_int_equal(at[127], n / 4 % 2);
        assert_int_equal(at[64 + 61], n);
        for (unsigned k = 0; k < 64; k++)
            assert_int_equal(at[k], 0); /* the first half is nobody's */
        expect_cqe(&place.a.sends, 0, (uint16_t)n);
    }
    place_close(&place);
}

static void a_collapsed_queue_has_one_entry(void **state)
{
    struct options options = {
        .entries = 16, .collapsed = true, .ignore_overrun = true};
    struct place place;
    struct wqe wqe;
    const uint8_t *at;

    (void)state;
    place_open(&place, &options);
    at = place.a.sends.buffer;
    for (unsigned n = 0; n < 100; n++) {
        wqe = wqe_write(&place.a, 0, 8);
        run_one(&place.a, &wqe);
        assert_int_equal(at[60] << 8 | at[61], n);
        assert_int_equal(at[63], 0);
    }
    assert_int_equal(at[64 + 63], 0xf0);
    wqe = wqe_write(&place.a, 0, 8);
    wqe.at[3] = 0x0e;
    run_one(&place.a, &wqe);
    assert_int_equal(at[63], 0xd0);
    assert_int_equal(at[55], 0x02);
    place_close(&place);
}

static void unsignalled_runs_end_in_one_completion(void **state)
{
    struct options options = {.entries = 2};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (size_t n = 0; n < 160; n++) {
        wqe = wqe_write(&place.a, n * 8, 8);
        wqe.at[11] = n % 16 == 15 ? SIGNALLED : 0;
        run_one(&place.a, &wqe);
        if (n % 16 == 15)
            expect_cqe(&place.a.sends, 0, (uint16_t)n);
        expect_none(&place.a.sends);
    }
    assert_memory_equal(place.b.memory, place.a.memory, 1280);
    place_close(&place);
}

/* Each length, at each place of a small ring: the longest WQE takes all of it,
 * and its data goes on at the start. */
static void inline_data_goes_on_at_the_start(void **state)
{
    enum { LONGEST = 1008 - 32 - 4 };
    struct options options = {.blocks = 16};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, &options);
    for (uint32_t bytes = 1; bytes <= LONGEST; bytes++) {
        uint16_t index = place.a.pi;

        wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
        wqe_raddr(&wqe, place_address(&place.b, 0), place.b.key);
        wqe_inline(&wqe, place.a.memory + bytes, bytes);
        place.b.memory[bytes] = 0xa5;
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, index);
        assert_memory_equal(place.b.memory, place.a.memory + bytes, bytes);
        assert_int_equal(place.b.memory[bytes], 0xa5);
    }
    place_close(&place);
}

static void inline_and_pointers_mix(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
    wqe_raddr(&wqe, place_address(&place.b, 0), place.b.key);
    wqe_inline(&wqe, "head", 4);
    wqe_data(&wqe, 100, place.a.key, place_address(&place.a, 0));
    wqe_inline(&wqe, "tail of it", 10);
    wqe_inline(&wqe, "", 0);
    run_one(&place.a, &wqe);
    expect_cqe(&place.a.sends, 0, 0);
    assert_memory_equal(place.b.memory, "head", 4);
    assert_memory_equal(place.b.memory + 4, place.a.memory, 100);
    assert_memory_equal(place.b.memory + 104, "tail of it", 10);
    place_close(&place);
}

/* The longest list that DS can say, for a WRITE and a READ. */
static void sixty_one_elements_fit(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place, NULL);
    for (uint8_t opcode = 0x08; opcode <= 0x10; opcode += 8) {
        wqe = wqe_ctrl(&place.a, opcode, SIGNALLED);
        wqe_raddr(&wqe, place_address(&place.b, 0), place.b.key);
        for (size_t i = 0; i < 61; i++)
            wqe_data(&wqe, 3, place.a.key, place_address(&place.a, i * 16));
        run_one(&place.a, &wqe);
        expect_cqe(&place.a.sends, 0, (uint16_t)(place.a.pi - 16));
        for (size_t i = 0; i < 61; i++)
            assert_memory_equal(place.b.memory + 3 * i, place.a.memory + 16 * i,
                                3);
        fill_memory(&place);
    }
    place_close(&place);
}

/* A flag behind data: the word is stored whole. */
static void words_are_stored_whole(void **state)
{
    struct place place;
    struct wqe wqe;
    uint64_t word;

    (void)state;
    place_open(&place, NULL);
    for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
        wqe = wqe_write(&place.a, 64, bytes);
        run_one(&place.a, &wqe);
        memcpy(&word, place.b.memory + 64, sizeof(word));
        assert_memory_equal(&word, place.a.memory + 64, bytes);
    }
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_wrap_at_16_bits),
        cmocka_unit_test(receives_wrap_at_16_bits),
        cmocka_unit_test(bursts_fill_the_ring),
        cmocka_unit_test(owner_is_the_lap_of_the_queue),
        cmocka_unit_test(a_collapsed_queue_has_one_entry),
        cmocka_unit_test(unsignalled_runs_end_in_one_completion),
        cmocka_unit_test(inline_data_goes_on_at_the_start),
        cmocka_unit_test(inline_and_pointers_mix),
        cmocka_unit_test(sixty_one_elements_fit),
        cmocka_unit_test(words_are_stored_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
