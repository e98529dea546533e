/* A program in a thread of its own: it posts and polls without a lock while
 * the engine runs here. What it sees of a CQE and of payload is whole. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/hca/place.h"
#include "tests/lib/sanitized.h"

enum { MESSAGES = 20000, WORDS = 8 };

static struct place place;
static bool over;

/* Posts a WRITE of some words and then one of a flag, waits for the flag at
 * the other side, and looks at the words behind it. */
static void *program(void *arg)
{
    uint64_t *flag = (uint64_t *)(void *)(place.b.memory + 4096);
    uint64_t n, words[WORDS];
    struct wqe wqe;
    struct cqe cqe;

    for (n = 1; n <= mgds_test_laps(MESSAGES); n++) {
        for (int i = 0; i < WORDS; i++)
            words[i] = n;
        memcpy(place.a.memory, words, sizeof(words));
        wqe = wqe_write(&place.a, 0, sizeof(words));
        wqe.at[11] = 0;
        post(&place.a, &wqe);
        wqe = wqe_ctrl(&place.a, 0x08, SIGNALLED);
        wqe_raddr(&wqe, place_address(&place.b, 4096), place.b.key);
        wqe_inline(&wqe, &n, sizeof(n));
        post(&place.a, &wqe);
        ring(&place.a);
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != n)
            sched_yield();
        assert_memory_equal(place.b.memory, words, sizeof(words));
        while (!take_cqe(&place.a.sends, &cqe))
            sched_yield();
        assert_int_equal(cqe.opcode, 0);
        assert_int_equal(cqe.counter, (uint16_t)(2 * n - 1));
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    return arg;
}

static void programs_need_no_lock(void **state)
{
    struct options options = {.blocks = 4, .entries = 2};
    pthread_t thread;

    (void)state;
    place_open(&place, &options);
    memset(place.b.memory + 4096, 0, 8);
    assert_int_equal(pthread_create(&thread, NULL, program, NULL), 0);
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        if (mgds_hca_run(place.a.hca) == 0)
            sched_yield();
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(place.misuses, 0);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_need_no_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
