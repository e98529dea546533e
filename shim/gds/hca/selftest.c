/* The tests, a row each in the table at the end; see selftest.h. */
#include "shim/gds/hca/selftest.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/text.h"
#include "shim/gds/hca/qp.h"
#include "shim/gds/hca/rail.h"
#include "shim/gds/hca/region.h"
#include "shim/gds/hca/syndrome.h"

enum {
    BLOCKS = 64,
    MEMORY = 16384,
    DATA = 1000,
    FLAG = 8192, /* offset of a word that is far from data */
    WORD = 8,
    LAPS = 4 * BLOCKS,
    BATCH = 16,
    INDICES = 1 << 16,
    INLINE_MOST = 20, /* of payload, in front of a word */
    FAILURE = 200
};

#define DEADLINE_NS UINT64_C(5000000000)

struct side {
    struct mgds_qp *qp;
    struct mgds_sendq *queue;
    struct mgds_region region;
    bool registered;
    uint8_t *memory;
};

struct bench {
    struct mgds_rail *rail;
    struct side a; /* posts */
    struct side b;
    struct mgds_completion heard; /* taken from the CQ, and by no test; state 0:
                                     there is none */
    char failure[FAILURE];
};

static bool fail(struct bench *bench, const char *what)
{
    struct mgds_text text;

    mgds_text_init(&text, bench->failure, sizeof(bench->failure));
    mgds_text_string(&text, what);
    return false;
}

static bool fail_refused(struct bench *bench,
                         const struct mgds_refusal *refusal)
{
    char text[MGDS_REFUSAL_TEXT];

    return fail(bench, mgds_refusal_text(refusal, text));
}

static bool open_memory(struct bench *bench, struct side *side,
                        struct mgds_refusal *refusal)
{
    struct mgds_region_memory memory = {.bytes = MEMORY, .dmabuf = -1};

    side->memory = (uint8_t *)aligned_alloc(MEMORY, MEMORY);
    if (!side->memory)
        return mgds_refuse(refusal, MGDS_REFUSAL_MEMORY, ENOMEM) == 0;
    memset(side->memory, 0, MEMORY);
    memory.address = (uintptr_t)side->memory;
    side->registered =
        mgds_region_init(&side->region, bench->rail, &memory, refusal) == 0;
    return side->registered;
}

static bool open_side(struct bench *bench, struct side *side,
                      struct mgds_refusal *refusal)
{
    if (mgds_qp_create(&side->qp, bench->rail, BLOCKS, refusal) < 0)
        return false;
    side->queue = mgds_qp_sendq(side->qp);
    return open_memory(bench, side, refusal);
}

static bool connect_sides(struct side *from, const struct side *to,
                          struct mgds_refusal *refusal)
{
    struct mgds_end_rail there;

    mgds_qp_describe(to->qp, &there);
    return mgds_qp_connect(from->qp, &there, there.mtu, refusal) == 0;
}

static bool open_bench(struct bench *bench)
{
    struct mgds_refusal refusal;

    return (open_side(bench, &bench->a, &refusal) &&
            open_side(bench, &bench->b, &refusal) &&
            connect_sides(&bench->a, &bench->b, &refusal) &&
            connect_sides(&bench->b, &bench->a, &refusal)) ||
           fail_refused(bench, &refusal);
}

static void close_side(struct side *side)
{
    mgds_qp_destroy(side->qp);
    if (side->registered)
        mgds_region_fini(&side->region);
    free(side->memory);
}

static struct mgds_wqe_path path_of(const struct bench *bench)
{
    return (struct mgds_wqe_path){.qpn = bench->a.queue->qpn};
}

static struct mgds_wqe_remote remote_at(const struct bench *bench,
                                        size_t offset)
{
    return (struct mgds_wqe_remote){(uintptr_t)bench->b.memory + offset,
                                    bench->b.region.rkey};
}

static struct mgds_wqe_local local_at(const struct bench *bench, size_t offset,
                                      uint32_t bytes)
{
    return (struct mgds_wqe_local){(uintptr_t)bench->a.memory + offset, bytes,
                                   bench->a.region.lkey};
}

static uint64_t *word_at(const struct side *side, size_t offset)
{
    return (uint64_t *)(void *)(side->memory + offset);
}

/* The ring has room: tests wait for what they have posted. */
static void post(struct bench *bench, struct mgds_wqe wqe)
{
    uint32_t index;

    (void)mgds_sendq_put(bench->a.queue, &wqe, &index);
}

static void ring(struct bench *bench)
{
    mgds_sendq_ring(bench->a.queue);
}

/* A completion is there. */
static bool hear(struct bench *bench)
{
    return bench->heard.state != 0 ||
           mgds_sendq_poll(bench->a.queue, &bench->heard) == 1;
}

static bool await_completion(struct bench *bench, struct mgds_completion *out)
{
    uint64_t end = mgds_clock_ns() + DEADLINE_NS;

    while (!hear(bench)) {
        if (mgds_clock_ns() > end)
            return fail(bench, "no completion came in 5 s");
        sched_yield();
    }
    *out = bench->heard;
    memset(&bench->heard, 0, sizeof(bench->heard));
    return true;
}

static bool fail_completion(struct bench *bench,
                            const struct mgds_completion *completion)
{
    struct mgds_text text;

    mgds_text_init(&text, bench->failure, sizeof(bench->failure));
    if (completion->state == MGDS_CQE_DONE)
        mgds_text_add(&text, "index %" PRIu32 " has completed well",
                      completion->index);
    else
        mgds_text_add(&text, "index %" PRIu32 ": %s (0x%02x, vendor 0x%02x)",
                      completion->index,
                      mgds_syndrome_text(completion->syndrome),
                      completion->syndrome, completion->vendor_syndrome);
    return false;
}

static bool expect_done(struct bench *bench)
{
    struct mgds_completion completion;

    if (!await_completion(bench, &completion))
        return false;
    return completion.state == MGDS_CQE_DONE ||
           fail_completion(bench, &completion);
}

static bool expect_failed(struct bench *bench, uint8_t syndrome)
{
    struct mgds_completion completion;

    if (!await_completion(bench, &completion))
        return false;
    return (completion.state == MGDS_CQE_FAILED &&
            completion.syndrome == syndrome) ||
           fail_completion(bench, &completion);
}

static bool fail_word(struct bench *bench, uint64_t found, uint64_t value)
{
    struct mgds_text text;

    mgds_text_init(&text, bench->failure, sizeof(bench->failure));
    mgds_text_add(&text, "a word was 0x%" PRIx64 ", not 0x%" PRIx64, found,
                  value);
    return false;
}

/* A word that does not come is no news; what the CQ says meanwhile may be. */
static bool await_word(struct bench *bench, const uint64_t *word,
                       uint64_t value)
{
    uint64_t end = mgds_clock_ns() + DEADLINE_NS;
    uint64_t found;

    while ((found = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != value) {
        if (hear(bench) && bench->heard.state == MGDS_CQE_FAILED)
            return fail_completion(bench, &bench->heard);
        if (mgds_clock_ns() > end)
            return fail_word(bench, found, value);
        sched_yield();
    }
    return true;
}

static bool expect_bytes(struct bench *bench, const uint8_t *bytes,
                         size_t count, uint8_t value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return fail(bench, "the word was there before the data");
    return true;
}

/* Laps of the CQ, with the word looked at in memory, not at the completion. */
static bool write_in_order(struct bench *bench)
{
    for (uint64_t n = 1; n <= LAPS; n++) {
        memset(bench->a.memory, (int)(n & 0xff), DATA);
        post(bench, mgds_wqe_write(path_of(bench), 0, remote_at(bench, 0),
                                   local_at(bench, 0, DATA)));
        post(bench, mgds_wqe_write_inline(path_of(bench), MGDS_WQE_CE_ALWAYS,
                                          remote_at(bench, DATA), &n, WORD));
        ring(bench);
        if (!await_word(bench, word_at(&bench->b, DATA), n) ||
            !expect_bytes(bench, bench->b.memory, DATA, (uint8_t)n) ||
            !expect_done(bench))
            return false;
    }
    return true;
}

static bool write_inline(struct bench *bench)
{
    for (uint32_t bytes = 1; bytes <= INLINE_MOST; bytes++) {
        uint8_t message[INLINE_MOST + WORD];
        uint64_t word = bytes;
        size_t at = FLAG - bytes; /* the word is aligned */

        memset(message, (int)bytes, bytes);
        memcpy(message + bytes, &word, WORD);
        post(bench, mgds_wqe_write_inline(path_of(bench), MGDS_WQE_CE_ALWAYS,
                                          remote_at(bench, at), message,
                                          bytes + WORD));
        ring(bench);
        if (!await_word(bench, word_at(&bench->b, FLAG), word) ||
            !expect_bytes(bench, bench->b.memory + at, bytes, (uint8_t)bytes) ||
            !expect_done(bench))
            return false;
    }
    return true;
}

/* The word here is the old value, in this machine's order. */
static bool read_and_add(struct bench *bench)
{
    const uint64_t old = UINT64_C(0x0102030405060708);

    memset(bench->b.memory, 0x5a, DATA);
    *word_at(&bench->b, FLAG) = old;
    post(bench, mgds_wqe_read(path_of(bench), 0, remote_at(bench, 0),
                              local_at(bench, 0, DATA)));
    post(bench, mgds_wqe_fetch_add(
                    path_of(bench), MGDS_WQE_FENCE | MGDS_WQE_CE_ALWAYS,
                    remote_at(bench, FLAG), 1, local_at(bench, FLAG, WORD)));
    ring(bench);
    return await_word(bench, word_at(&bench->a, FLAG), old) &&
           expect_bytes(bench, bench->a.memory, DATA, 0x5a) &&
           await_word(bench, word_at(&bench->b, FLAG), old + 1) &&
           expect_done(bench);
}

static bool compare_and_swap(struct bench *bench)
{
    const struct mgds_wqe_swap swap = {.compare = 5, .swap = 6};

    *word_at(&bench->b, FLAG) = 5;
    for (unsigned i = 0; i < 2; i++) {
        post(bench, mgds_wqe_compare_swap(path_of(bench), MGDS_WQE_CE_ALWAYS,
                                          remote_at(bench, FLAG), swap,
                                          local_at(bench, FLAG, WORD)));
        ring(bench);
        if (!expect_done(bench) ||
            !await_word(bench, word_at(&bench->a, FLAG), 5 + i) ||
            !await_word(bench, word_at(&bench->b, FLAG), 6))
            return false;
    }
    return true;
}

/* Record, doorbell and CQEs have 16 bits of the index. */
static bool wrap_indices(struct bench *bench)
{
    uint32_t last = INDICES + LAPS - 1;

    for (uint32_t index = 0; index <= last; index++) {
        bool heard = index % BATCH == BATCH - 1;
        struct mgds_completion completion;

        post(bench, mgds_wqe_write_inline(
                        path_of(bench), heard ? MGDS_WQE_CE_ALWAYS : 0,
                        remote_at(bench, 0), &index, sizeof(index)));
        if (!heard)
            continue;
        ring(bench);
        if (!await_completion(bench, &completion))
            return false;
        if (completion.state != MGDS_CQE_DONE || completion.index != index)
            return fail_completion(bench, &completion);
    }
    return true;
}

static bool break_key(struct bench *bench)
{
    struct mgds_wqe_remote wrong = remote_at(bench, 0);

    wrong.rkey ^= 0x5a00;
    post(bench,
         mgds_wqe_write(path_of(bench), 0, wrong, local_at(bench, 0, DATA)));
    post(bench, mgds_wqe_nop(bench->a.queue->qpn, 0));
    ring(bench);
    return expect_failed(bench, MGDS_SYNDROME_REMOTE_ACCESS) &&
           expect_failed(bench, MGDS_SYNDROME_FLUSHED);
}

static bool break_queue(struct bench *bench)
{
    mgds_qp_break(bench->a.qp);
    post(bench, mgds_wqe_nop(bench->a.queue->qpn, 0));
    ring(bench);
    return expect_failed(bench, MGDS_SYNDROME_FLUSHED);
}

static const struct {
    const char *name;
    const char *promise;
    bool (*run)(struct bench *bench);
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
        struct bench bench = {.rail = rail};
        bool well = open_bench(&bench) && rows[i].run(&bench);

        close_side(&bench.a);
        close_side(&bench.b);
        tell(arg, rows[i].name, rows[i].promise, well ? NULL : bench.failure);
        failures += !well;
    }
    return failures;
}
