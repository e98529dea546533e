/* The tests, a row each in the table at the end; see selftest.h. */
#include "shim/gds/hca/selftest.h"

#include <string.h>

#include "shim/gds/hca/loopback.h"

enum {
    DATA = 1000,
    FLAG = 8192, /* offset of a word that is far from data */
    WORD = 8,
    LAPS = 4 * MGDS_LOOPBACK_BLOCKS,
    BATCH = 16,
    INDICES = 1 << 16,
    INLINE_MOST = 20 /* of payload, in front of a word */
};

static bool expect_bytes(struct mgds_loopback *loop, const uint8_t *bytes,
                         size_t count, uint8_t value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return mgds_loopback_fail(loop,
                                      "the word was there before the data");
    return true;
}

/* Laps of the CQ, with the word looked at in memory, not at the completion. */
static bool write_in_order(struct mgds_loopback *loop)
{
    for (uint64_t n = 1; n <= LAPS; n++) {
        memset(loop->a.memory, (int)(n & 0xff), DATA);
        mgds_loopback_post(loop,
                           mgds_wqe_write(mgds_loopback_path(loop), 0,
                                          mgds_loopback_remote(loop, 0),
                                          mgds_loopback_local(loop, 0, DATA)));
        mgds_loopback_post(
            loop,
            mgds_wqe_write_inline(mgds_loopback_path(loop), MGDS_WQE_CE_ALWAYS,
                                  mgds_loopback_remote(loop, DATA), &n, WORD));
        mgds_loopback_ring(loop);
        if (!mgds_loopback_await_word(loop, mgds_loopback_word(&loop->b, DATA),
                                      n) ||
            !expect_bytes(loop, loop->b.memory, DATA, (uint8_t)n) ||
            !mgds_loopback_expect_done(loop))
            return false;
    }
    return true;
}

static bool write_inline(struct mgds_loopback *loop)
{
    for (uint32_t bytes = 1; bytes <= INLINE_MOST; bytes++) {
        uint8_t message[INLINE_MOST + WORD];
        uint64_t word = bytes;
        size_t at = FLAG - bytes; /* the word is aligned */

        memset(message, (int)bytes, bytes);
        memcpy(message + bytes, &word, WORD);
        mgds_loopback_post(
            loop, mgds_wqe_write_inline(
                      mgds_loopback_path(loop), MGDS_WQE_CE_ALWAYS,
                      mgds_loopback_remote(loop, at), message, bytes + WORD));
        mgds_loopback_ring(loop);
        if (!mgds_loopback_await_word(loop, mgds_loopback_word(&loop->b, FLAG),
                                      word) ||
            !expect_bytes(loop, loop->b.memory + at, bytes, (uint8_t)bytes) ||
            !mgds_loopback_expect_done(loop))
            return false;
    }
    return true;
}

/* The word here is the old value, in this machine's order. */
static bool read_and_add(struct mgds_loopback *loop)
{
    const uint64_t old = UINT64_C(0x0102030405060708);

    memset(loop->b.memory, 0x5a, DATA);
    *mgds_loopback_word(&loop->b, FLAG) = old;
    mgds_loopback_post(loop, mgds_wqe_read(mgds_loopback_path(loop), 0,
                                           mgds_loopback_remote(loop, 0),
                                           mgds_loopback_local(loop, 0, DATA)));
    mgds_loopback_post(
        loop, mgds_wqe_fetch_add(mgds_loopback_path(loop),
                                 MGDS_WQE_FENCE | MGDS_WQE_CE_ALWAYS,
                                 mgds_loopback_remote(loop, FLAG), 1,
                                 mgds_loopback_local(loop, FLAG, WORD)));
    mgds_loopback_ring(loop);
    return mgds_loopback_await_word(loop, mgds_loopback_word(&loop->a, FLAG),
                                    old) &&
           expect_bytes(loop, loop->a.memory, DATA, 0x5a) &&
           mgds_loopback_await_word(loop, mgds_loopback_word(&loop->b, FLAG),
                                    old + 1) &&
           mgds_loopback_expect_done(loop);
}

static bool compare_and_swap(struct mgds_loopback *loop)
{
    const struct mgds_wqe_swap swap = {.compare = 5, .swap = 6};

    *mgds_loopback_word(&loop->b, FLAG) = 5;
    for (unsigned i = 0; i < 2; i++) {
        mgds_loopback_post(
            loop,
            mgds_wqe_compare_swap(mgds_loopback_path(loop), MGDS_WQE_CE_ALWAYS,
                                  mgds_loopback_remote(loop, FLAG), swap,
                                  mgds_loopback_local(loop, FLAG, WORD)));
        mgds_loopback_ring(loop);
        if (!mgds_loopback_expect_done(loop) ||
            !mgds_loopback_await_word(loop, mgds_loopback_word(&loop->a, FLAG),
                                      5 + i) ||
            !mgds_loopback_await_word(loop, mgds_loopback_word(&loop->b, FLAG),
                                      6))
            return false;
    }
    return true;
}

/* Record, doorbell and CQEs have 16 bits of the index. */
static bool wrap_indices(struct mgds_loopback *loop)
{
    uint32_t last = INDICES + LAPS - 1;

    for (uint32_t index = 0; index <= last; index++) {
        bool heard = index % BATCH == BATCH - 1;
        struct mgds_completion completion;

        mgds_loopback_post(
            loop, mgds_wqe_write_inline(
                      mgds_loopback_path(loop), heard ? MGDS_WQE_CE_ALWAYS : 0,
                      mgds_loopback_remote(loop, 0), &index, sizeof(index)));
        if (!heard)
            continue;
        mgds_loopback_ring(loop);
        if (!mgds_loopback_await(loop, &completion))
            return false;
        if (completion.state != MGDS_CQE_DONE || completion.index != index)
            return mgds_loopback_fail_completion(loop, &completion);
    }
    return true;
}

static bool break_key(struct mgds_loopback *loop)
{
    struct mgds_wqe_remote wrong = mgds_loopback_remote(loop, 0);

    wrong.rkey ^= 0x5a00;
    mgds_loopback_post(loop,
                       mgds_wqe_write(mgds_loopback_path(loop), 0, wrong,
                                      mgds_loopback_local(loop, 0, DATA)));
    mgds_loopback_post(loop, mgds_wqe_nop(loop->a.queue->qpn, 0));
    mgds_loopback_ring(loop);
    return mgds_loopback_expect_failed(loop, MGDS_SYNDROME_REMOTE_ACCESS) &&
           mgds_loopback_expect_failed(loop, MGDS_SYNDROME_FLUSHED);
}

static bool break_queue(struct mgds_loopback *loop)
{
    mgds_qp_break(loop->a.qp);
    mgds_loopback_post(loop, mgds_wqe_nop(loop->a.queue->qpn, 0));
    mgds_loopback_ring(loop);
    return mgds_loopback_expect_failed(loop, MGDS_SYNDROME_FLUSHED);
}

static const struct {
    const char *name;
    const char *promise;
    bool (*run)(struct mgds_loopback *loop);
} rows[] = {
    {"write", "data is there before the word behind it", write_in_order},
    {"inline", "payload is there before the word in the same request",
     write_inline},
    {"read", "a fenced atomic behind a READ tells both ends", read_and_add},
    {"swap", "a word is swapped if it is as expected", compare_and_swap},
    {"wrap", "indices go on beyond 16 bits", wrap_indices},
    {"key", "a wrong key is an error, and the rest is flushed", break_key},
    {"break", "a broken queue pair flushes", break_queue},
};

unsigned mgds_selftest_run(struct mgds_rail *rail, mgds_selftest_fn tell,
                           void *arg)
{
    unsigned failures = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mgds_loopback loop;
        bool well = mgds_loopback_open(&loop, rail) && rows[i].run(&loop);

        mgds_loopback_close(&loop);
        tell(arg, rows[i].name, rows[i].promise, well ? NULL : loop.failure);
        failures += !well;
    }
    return failures;
}
