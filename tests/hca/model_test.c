/* Random bursts of all operations, both ways, beside a model that is a few
 * copies between arrays: memory is the same after each burst.
 *
 *   model_test [campaign] */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hca/draw.h"
#include "tests/hca/place.h"
#include "tests/lib/sanitized.h"

/* Where the device of the other side runs. */
enum where { HERE, IN_THREAD, IN_CHILD };

enum { BURSTS = 4000, SPAN = 4096, ELEMENTS = 4, FENCE = 2 << 5 };

struct model {
    uint8_t a[PLACE_MEMORY];
    uint8_t b[PLACE_MEMORY];
};

/* One burst: who posts, to whom, and their memory in the model. */
struct side {
    struct end *end;
    struct end *peer;
    uint8_t *mine;
    uint8_t *theirs;
};

static uint64_t seed;

/* Data of a READ is there before a later WQE uses it, as the model has it. */
static void post_fenced(const struct side *side, struct wqe *wqe)
{
    wqe->at[11] |= FENCE;
    post(side->end, wqe);
}

/* Elements of a list, added to the WQE; their bytes together. */
static uint32_t add_elements(const struct side *side, struct wqe *wqe,
                             uint32_t at[], uint32_t bytes[])
{
    uint32_t count = 1 + draw_below(&seed, ELEMENTS), sum = 0;

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        bytes[i] = i < count ? 1 + draw_below(&seed, 200) : 0;
        at[i] = 8192 + i * 1024 + draw_below(&seed, 800);
        if (i < count)
            wqe_data(wqe, bytes[i], side->end->key,
                     place_address(side->end, at[i]));
        sum += bytes[i];
    }
    return sum;
}

static uint32_t gather(const struct side *side, uint8_t *to,
                       const uint32_t at[], const uint32_t bytes[])
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < ELEMENTS; sum += bytes[i++])
        memcpy(to + sum, side->mine + at[i], bytes[i]);
    return sum;
}

static void write_some(const struct side *side)
{
    uint32_t at[ELEMENTS], bytes[ELEMENTS], to = draw_below(&seed, SPAN);
    struct wqe wqe = wqe_ctrl(side->end, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(side->peer, to), side->peer->key);
    add_elements(side, &wqe, at, bytes);
    post_fenced(side, &wqe);
    gather(side, side->theirs + to, at, bytes);
}

static void write_inline(const struct side *side)
{
    uint32_t to = draw_below(&seed, SPAN), bytes = draw_below(&seed, 300);
    struct wqe wqe = wqe_ctrl(side->end, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(side->peer, to), side->peer->key);
    wqe_inline(&wqe, side->mine + 100, bytes);
    memcpy(side->theirs + to, side->mine + 100, bytes);
    post_fenced(side, &wqe);
}

static void read_some(const struct side *side)
{
    uint32_t at[ELEMENTS], bytes[ELEMENTS], from = draw_below(&seed, SPAN);
    struct wqe wqe = wqe_ctrl(side->end, 0x10, SIGNALLED);

    wqe_raddr(&wqe, place_address(side->peer, from), side->peer->key);
    add_elements(side, &wqe, at, bytes);
    post_fenced(side, &wqe);
    for (uint32_t i = 0; i < ELEMENTS; from += bytes[i++])
        memcpy(side->mine + at[i], side->theirs + from, bytes[i]);
}

/* A datagram stands behind the place of a GRH, which it has not. */
static void send_some(const struct side *side)
{
    bool datagram = side->end->place->options.service == MGDS_SERVICE_UD;
    uint32_t at[ELEMENTS], bytes[ELEMENTS], to = 20000;
    struct wqe wqe = wqe_ctrl(side->end, 0x0a, SIGNALLED);
    uint32_t skip = datagram ? MGDS_HCA_GRH : 0;

    if (datagram)
        wqe_av(&wqe, side->peer, PLACE_QKEY, false);
    to += draw_below(&seed, 1000);
    post_receive(side->peer, to, skip + ELEMENTS * 200);
    add_elements(side, &wqe, at, bytes);
    post_fenced(side, &wqe);
    gather(side, side->theirs + to + skip, at, bytes);
}

static void change_word(const struct side *side)
{
    bool adds = draw(&seed) & 1;
    struct wqe wqe = wqe_ctrl(side->end, adds ? 0x12 : 0x11, SIGNALLED);
    uint32_t at = 8 * draw_below(&seed, 4);
    uint64_t old, operand = draw(&seed), compare;

    memcpy(&old, side->theirs + at, 8);
    compare = draw(&seed) & 1 ? old : operand;
    wqe_raddr(&wqe, place_address(side->peer, at), side->peer->key);
    wqe_atomic(&wqe, operand, compare);
    wqe_data(&wqe, 8, side->end->key, place_address(side->end, 4003));
    post_fenced(side, &wqe);
    memcpy(side->mine + 4003, &old, 8);
    if (adds)
        operand += old;
    else if (compare != old)
        operand = old;
    memcpy(side->theirs + at, &operand, 8);
}

static void put_number(struct wqe *wqe, size_t bytes, uint64_t number)
{
    if (bytes == 4)
        wqe_be32(wqe, (uint32_t)number);
    else
        wqe_be64(wqe, number);
}

/* Swaps some bits if others are right, as often as not. */
static void swap_bits(const struct side *side)
{
    size_t bytes = draw(&seed) & 1 ? 4 : 8;
    struct wqe wqe = wqe_ctrl(side->end, 0x14, SIGNALLED);
    uint32_t at = 8 * draw_below(&seed, 4);
    uint64_t old = 0, swap = draw(&seed), mask = draw(&seed), tested = 3;

    memcpy(&old, side->theirs + at, bytes);
    wqe.at[0] = bytes == 4 ? 8 : 9;
    wqe_raddr(&wqe, place_address(side->peer, at), side->peer->key);
    put_number(&wqe, bytes, swap);
    put_number(&wqe, bytes, 1);
    put_number(&wqe, bytes, mask);
    put_number(&wqe, bytes, tested);
    wqe_data(&wqe, (uint32_t)bytes, side->end->key,
             place_address(side->end, 4003));
    post_fenced(side, &wqe);
    memcpy(side->mine + 4003, &old, bytes);
    if ((old & tested) == 1)
        old = (old & ~mask) | (swap & mask);
    memcpy(side->theirs + at, &old, bytes);
}

static void run_burst(struct place *place, const struct side *side)
{
    /* UD has the first, UC the first three. */
    static void (*const kinds[])(const struct side *) = {
        send_some, write_some, write_inline, read_some, change_word, swap_bits};
    static const uint32_t has[MGDS_SERVICES] = {
        [MGDS_SERVICE_RC] = 6,
        [MGDS_SERVICE_UC] = 3,
        [MGDS_SERVICE_UD] = 1,
        [MGDS_SERVICE_DCI] = 6,
    };
    uint32_t count = 1 + draw_below(&seed, 5);
    struct cqe cqe;

    for (uint32_t i = 0; i < count; i++)
        kinds[draw_below(&seed, has[place->options.service])](side);
    ring(side->end);
    place_run(place);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(take_cqe(&side->end->sends, &cqe));
        assert_int_equal(cqe.opcode, 0);
    }
    expect_none(&side->end->sends);
    while (take_cqe(&side->peer->receives, &cqe))
        assert_int_equal(cqe.opcode, 2);
}

/* Bursts of one seed each. Apart from us is only b, which then posts nothing.
 */
static void run_bursts(struct place *place, unsigned bursts)
{
    static struct model model;

    memcpy(model.a, place->a.memory, sizeof(model.a));
    memcpy(model.b, place->b.memory, sizeof(model.b));
    for (unsigned burst = 0; burst < mgds_test_laps(bursts); burst++) {
        struct side side = {&place->a, &place->b, model.a, model.b};

        seed = burst + 1;
        if (draw(&seed) & 1 && !place->options.apart)
            side = (struct side){&place->b, &place->a, model.b, model.a};
        run_burst(place, &side);
        if (memcmp(model.a, place->a.memory, sizeof(model.a)) != 0 ||
            memcmp(model.b, place->b.memory, sizeof(model.b)) != 0)
            fail_msg("memory differs after burst %u", burst);
    }
    assert_int_equal(place->misuses, 0);
    assert_int_equal(place->events, 0);
}

struct service {
    struct place *place;
    bool over;
};

static void *serve(void *arg)
{
    struct service *service = arg;

    place_serve(service->place, &service->over);
    return NULL;
}

static void run_with_thread(struct place *place, unsigned bursts)
{
    struct service service = {.place = place};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, serve, &service), 0);
    run_bursts(place, bursts);
    __atomic_store_n(&service.over, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void run_with_child(struct place *place, unsigned bursts)
{
    static const bool never;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        place_serve(place, &never);
    }
    run_bursts(place, bursts);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void run_model(struct options options, unsigned bursts, enum where where)
{
    struct place *place = place_map();

    options.blocks = 32;
    options.entries = 8;
    options.apart = where != HERE;
    place_open(place, &options);
    if (where == IN_THREAD)
        run_with_thread(place, bursts);
    else if (where == IN_CHILD)
        run_with_child(place, bursts);
    else
        run_bursts(place, bursts);
    if (!options.faults) /* nothing was waited for, or sent twice */
        assert_int_equal(place->clock, 1);
    place_close(place);
    place_unmap(place);
}

static void memory_is_as_the_model_says(void **state)
{
    (void)state;
    run_model((struct options){.rnr_retry = 0}, BURSTS, HERE);
}

static const uint16_t mtus[] = {256, 512, 1024, 2048, 4096};

static void packets_make_no_difference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++)
        run_model((struct options){.packets = true,
                                   .mtu = mtus[i],
                                   .psn = MGDS_HCA_PSN_MASK - 100},
                  BURSTS / 4, HERE);
}

/* QPs have queues of their own, or a shared one. */
static void services_make_no_difference(void **state)
{
    static const enum mgds_hca_service services[] = {
        MGDS_SERVICE_RC, MGDS_SERVICE_UC, MGDS_SERVICE_UD, MGDS_SERVICE_DCI};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (unsigned shared = 0; shared <= 1; shared++)
            run_model((struct options){.packets = true,
                                       .mtu = 256,
                                       .service = services[i],
                                       .shared = shared},
                      BURSTS / 20, HERE);
    }
    run_model((struct options){.shared = true}, BURSTS / 20, HERE);
    run_model((struct options){.service = MGDS_SERVICE_DCI}, BURSTS / 20, HERE);
    run_model((struct options){.service = MGDS_SERVICE_DCI, .half = true},
              BURSTS / 20, HERE);
}

static void faults_make_no_difference(void **state)
{
    static const char *const faults[] = {
        "drop=5%",
        "rnr=30%,drop=2%",
        "duplicate=20%,seed=3",
        "reorder=20%",
        "delay=10%,late=300us",
        "delay=10%,late=5ms",
        "drop=4%,duplicate=4%,reorder=4%,delay=4%,seed=9"};

    (void)state;
    for (size_t i = 0; i < 5 * sizeof(faults) / sizeof(faults[0]); i++)
        run_model((struct options){.packets = true,
                                   .mtu = mtus[i % 5],
                                   .service = i % 5 ? MGDS_SERVICE_RC
                                                    : MGDS_SERVICE_DCI,
                                   .faults = faults[i / 5]},
                  BURSTS / 10, HERE);
}

/* On the machine's clock a peer may be late by seconds: eight times this long
 * are waited for. What is dropped costs as much, so that is rare there. */
enum { SECONDS = 19, FEW_BURSTS = 20 };
static const char late_ones[] =
    "duplicate=3%,reorder=3%,delay=3%,late=200us,seed=5";
static const char lost_ones[] = "drop=1%,reorder=3%,late=200us,seed=5";

/* Faults on the machine's clock, which take their time. */
static bool campaign;

static void run_apart(enum where where, uint16_t mtu, bool hosts)
{
    struct options options = {.packets = true,
                              .mtu = mtu,
                              .timeout = SECONDS,
                              .hosts = hosts,
                              .gids = hosts};

    run_model(options, BURSTS / 10, where);
    options.service = MGDS_SERVICE_DCI;
    run_model(options, BURSTS / 40, where);
    options.faults = late_ones;
    if (campaign)
        run_model(options, BURSTS / 40, where);
}

static void run_lossy(enum where where)
{
    if (campaign)
        run_model((struct options){.packets = true,
                                   .mtu = 256,
                                   .timeout = SECONDS,
                                   .faults = lost_ones},
                  FEW_BURSTS, where);
}

static void packets_cross_threads(void **state)
{
    (void)state;
    run_apart(IN_THREAD, 256, false);
    run_apart(IN_THREAD, 1024, true);
    run_lossy(IN_THREAD);
}

static void packets_cross_processes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++)
        run_apart(IN_CHILD, mtus[i], false);
    run_lossy(IN_CHILD);
}

static void packets_cross_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++)
        run_apart(IN_CHILD, mtus[i], true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_as_the_model_says),
        cmocka_unit_test(packets_make_no_difference),
        cmocka_unit_test(services_make_no_difference),
        cmocka_unit_test(faults_make_no_difference),
        cmocka_unit_test(packets_cross_threads),
        cmocka_unit_test(packets_cross_processes),
        cmocka_unit_test(packets_cross_hosts),
    };

    campaign = argc > 1 && strcmp(argv[1], "campaign") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
