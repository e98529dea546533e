/* WQEs, receives, records and doorbells of random bytes. Never a crash, and no
 * WQE that was rung for is left without its end: executed, in error, or
 * flushed.
 *
 *   fuzz_test [ROUNDS [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hca/draw.h"
#include "tests/hca/place.h"
#include "tests/lib/sanitized.h"

enum { ROUNDS = 40000, LIVES = 64 };

static unsigned rounds = ROUNDS;
static uint64_t seed = 1;
static unsigned ends[16]; /* how WQEs ended, by CQE opcode */

static void scribble(uint8_t *bytes, size_t count)
{
    for (uint32_t n = draw_below(&seed, 4); n > 0; n--)
        bytes[draw_below(&seed, (uint32_t)count)] = (uint8_t)draw(&seed);
}

static uint32_t windows[2]; /* of a, of each type: keys */

static struct wqe draw_bind(const struct end *end)
{
    unsigned type = 1 + draw_below(&seed, 2);

    return wqe_bind(end, &(struct binding){
                             .type = type,
                             .key = windows[type - 1],
                             .variant = (uint8_t)windows[type - 1],
                             .access = (uint8_t)draw_below(&seed, 16),
                             .region = end->key,
                             .bytes = draw_below(&seed, 3) * PLACE_MEMORY / 2,
                         });
}

/* Some WQE, most of it right. */
static struct wqe draw_wqe(const struct end *end, const struct end *peer)
{
    static const uint8_t opcodes[] = {0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10,
                                      0x11, 0x12, 0x14, 0x15, 0x23, 0x25};
    uint8_t opcode = opcodes[draw_below(&seed, sizeof(opcodes))];
    struct wqe wqe = wqe_ctrl(end, opcode, SIGNALLED);
    uint32_t count = draw_below(&seed, 6);

    if (opcode == 0x25)
        return draw_bind(end);

    if (end->place->options.service == MGDS_SERVICE_UD)
        wqe_av(&wqe, peer, PLACE_QKEY, draw(&seed) & 1);
    if (opcode != 0x01 && opcode != 0x0a && opcode != 0x0b && opcode != 0x23)
        wqe_raddr(&wqe, place_address(peer, draw_below(&seed, 4) << 3),
                  peer->key);
    if (opcode == 0x14 || opcode == 0x15)
        wqe.at[0] = (uint8_t)(8 + draw_below(&seed, 2));
    if (opcode >= 0x11 && opcode <= 0x15) {
        wqe_atomic(&wqe, draw(&seed), 0);
        if (opcode == 0x14 && wqe.at[0] == 9)
            wqe_atomic(&wqe, draw(&seed), draw(&seed));
        wqe_data(&wqe, wqe.at[0] == 8 ? 4 : 8, end->key, place_address(end, 0));
        count = 0;
    }
    for (; count > 0; count--) {
        if (draw(&seed) % 3)
            wqe_data(&wqe, draw_below(&seed, 300), end->key,
                     place_address(end, draw_below(&seed, 60000)));
        else
            wqe_inline(&wqe, end->memory, draw_below(&seed, 40));
    }
    return wqe;
}

static void draw_receives(struct end *end)
{
    struct wqe list;

    while ((uint16_t)(end->posts - place_taken(end)) < PLACE_RECEIVES) {
        list.bytes = 0;
        for (int i = 0; i < 4; i++)
            wqe_data(&list, 1 + draw_below(&seed, 2000), end->key,
                     place_address(end, draw_below(&seed, 60000)));
        if (draw(&seed) % 4 == 0)
            scribble(list.at, list.bytes);
        post_receive_bytes(end, list.at, list.bytes);
    }
}

static unsigned take_all(struct queue *queue)
{
    struct cqe cqe;
    unsigned count = 0;

    for (; take_cqe(queue, &cqe); count++)
        ends[cqe.opcode]++;
    return count;
}

/* All retries are used up. */
static void run_long(struct place *place)
{
    for (int i = 0; i < 4; i++) {
        place_run(place);
        place->clock += PLACE_DELAY;
    }
    place->events = 0;
    place->misuses = 0;
}

static void revive_both(struct place *place)
{
    if (place->a.qp->state != MGDS_STATE_ERR &&
        place->b.qp->state != MGDS_STATE_ERR)
        return;
    place_revive(&place->a, PLACE_QPN_B);
    place_revive(&place->b, PLACE_QPN_A);
    take_all(&place->a.receives);
    take_all(&place->b.receives);
}

/* A WQE that is somewhat wrong, with a doorbell that is right. */
static void run_wqe(struct place *place)
{
    struct wqe wqe = draw_wqe(&place->a, &place->b);
    size_t bytes = wqe.bytes;
    uint8_t bell[8];

    draw_receives(&place->b);
    wqe.at[7] = (uint8_t)(bytes / 16);
    memcpy(bell, wqe.at, sizeof(bell));
    if (draw(&seed) % 2)
        scribble(wqe.at, bytes);
    wqe.at[11] |= SIGNALLED; /* so that its end is seen */
    post_bytes(&place->a, wqe.at, bytes);
    set_record(&place->a, 1, place->a.pi);
    ring_register(&place->a, 0x800, bell);
    run_long(place);
    assert_int_equal(place->a.qp->send.head, place->a.qp->send.limit);
    assert_true(take_all(&place->a.sends) > 0);
    take_all(&place->b.receives);
    revive_both(place);
}

static void run_wqes(struct options options, unsigned count)
{
    struct place place;

    options.blocks = 32;
    options.entries = 64;
    options.rnr_retry = 1;
    memset(ends, 0, sizeof(ends));
    place_open(&place, &options);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(mgds_hca_key_attach_window(place.a.hca, PLACE_PD,
                                                    i + 1, &windows[i]),
                         0);
    for (unsigned i = 0; i < mgds_test_laps(count); i++)
        run_wqe(&place);
    assert_true(ends[0] > 0);
    assert_true(ends[13] > 0);
    assert_true(ends[14] > 0);
    printf("executed %u, in error %u, receives in error %u\n", ends[0],
           ends[13], ends[14]);
    place_close(&place);
}

static void every_wqe_ends(void **state)
{
    (void)state;
    run_wqes((struct options){.packets = false}, rounds);
}

/* Over packets too, of each service. */
static void every_wqe_of_a_service_ends(void **state)
{
    (void)state;
    for (int service = 0; service < MGDS_SERVICE_DCT; service++)
        run_wqes((struct options){.packets = true,
                                  .mtu = 256,
                                  .service = (enum mgds_hca_service)service},
                 rounds / 10);
}

static void draw_bytes(uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)draw(&seed);
}

/* Rings of noise, with WQEs that begin as they should now and then. */
static void run_noise(struct place *place)
{
    struct end *end = &place->a;
    uint8_t word[8];

    draw_bytes(word, sizeof(word));
    word[1] = 0;
    word[2] = (uint8_t)(end->qp->send.head + draw_below(&seed, 9));
    memcpy(word + 4, (uint8_t[]){0, 1, 0x23}, draw(&seed) % 4);
    set_record(end, draw(&seed) & 1, draw(&seed));
    end->sends.record[0].raw = draw(&seed);
    end->sends.record[1].raw = draw(&seed);
    draw_bytes(end->send + (draw_below(&seed, 16) << 6), 64);
    memcpy(end->send + (end->qp->send.head % 16 << 6),
           (uint8_t[]){0, (uint8_t)(end->qp->send.head >> 8),
                       (uint8_t)end->qp->send.head},
           draw(&seed) & 1 ? 3 : 0);
    ring_register(end, draw(&seed) & 1 ? 0x800 : 0x900, word);
    draw_bytes(word, sizeof(word));
    ring_register(end, 0x20, word);
    run_long(place);
    revive_both(place);
}

static void noise_does_no_harm(void **state)
{
    struct options options = {.rnr_retry = 1};
    struct place place;

    (void)state;
    for (unsigned life = 0; life < LIVES; life++) {
        place_open(&place, &options);
        draw_bytes(place.a.send, 1024);
        for (unsigned i = 0; i < mgds_test_laps(rounds) / LIVES; i++)
            run_noise(&place);
        place_close(&place);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wqe_ends),
        cmocka_unit_test(every_wqe_of_a_service_ends),
        cmocka_unit_test(noise_does_no_harm),
    };

    if (argc > 1)
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10) | 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
