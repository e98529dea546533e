/* Opening, posting, waiting; see loopback.h. */
#include "shim/gds/hca/loopback.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/gds/hca/rail.h"
#include "shim/gds/hca/syndrome.h"

#define DEADLINE_NS UINT64_C(5000000000)

bool mgds_loopback_fail(struct mgds_loopback *loop, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(loop->failure, sizeof(loop->failure), format, args);
    va_end(args);
    return false;
}

bool mgds_loopback_fail_refused(struct mgds_loopback *loop,
                                const struct mgds_refusal *refusal)
{
    char text[MGDS_REFUSAL_TEXT];

    return mgds_loopback_fail(loop, "%s", mgds_refusal_text(refusal, text));
}

bool mgds_loopback_fail_completion(struct mgds_loopback *loop,
                                   const struct mgds_completion *completion)
{
    if (completion->state == MGDS_CQE_DONE)
        return mgds_loopback_fail(loop, "index %" PRIu32 " has completed well",
                                  completion->index);
    return mgds_loopback_fail(
        loop, "index %" PRIu32 ": %s (0x%02x, vendor 0x%02x)",
        completion->index, mgds_syndrome_text(completion->syndrome),
        completion->syndrome, completion->vendor_syndrome);
}

static bool open_memory(struct mgds_loopback *loop,
                        struct mgds_loopback_side *side,
                        struct mgds_refusal *refusal)
{
    struct mgds_region_memory memory = {.bytes = MGDS_LOOPBACK_MEMORY,
                                        .dmabuf = -1};

    side->memory =
        (uint8_t *)aligned_alloc(MGDS_LOOPBACK_MEMORY, MGDS_LOOPBACK_MEMORY);
    if (!side->memory)
        return mgds_refuse(refusal, MGDS_REFUSAL_MEMORY, ENOMEM) == 0;
    memset(side->memory, 0, MGDS_LOOPBACK_MEMORY);
    memory.address = (uintptr_t)side->memory;
    side->registered =
        mgds_region_init(&side->region, loop->rail, &memory, refusal) == 0;
    return side->registered;
}

static bool open_side(struct mgds_loopback *loop,
                      struct mgds_loopback_side *side,
                      struct mgds_refusal *refusal)
{
    if (mgds_qp_create(&side->qp, loop->rail, MGDS_LOOPBACK_BLOCKS, refusal) <
        0)
        return false;
    side->queue = mgds_qp_sendq(side->qp);
    return open_memory(loop, side, refusal);
}

static bool connect_sides(struct mgds_loopback_side *from,
                          const struct mgds_loopback_side *to,
                          struct mgds_refusal *refusal)
{
    struct mgds_end_rail there;

    mgds_qp_describe(to->qp, &there);
    return mgds_qp_connect(from->qp, &there, there.mtu, refusal) == 0;
}

bool mgds_loopback_open(struct mgds_loopback *loop, struct mgds_rail *rail)
{
    struct mgds_refusal refusal;

    memset(loop, 0, sizeof(*loop));
    loop->rail = rail;
    return (open_side(loop, &loop->a, &refusal) &&
            open_side(loop, &loop->b, &refusal) &&
            connect_sides(&loop->a, &loop->b, &refusal) &&
            connect_sides(&loop->b, &loop->a, &refusal)) ||
           mgds_loopback_fail_refused(loop, &refusal);
}

static void close_side(struct mgds_loopback_side *side)
{
    mgds_qp_destroy(side->qp);
    if (side->registered)
        mgds_region_fini(&side->region);
    free(side->memory);
}

void mgds_loopback_close(struct mgds_loopback *loop)
{
    close_side(&loop->a);
    close_side(&loop->b);
}

struct mgds_wqe_path mgds_loopback_path(const struct mgds_loopback *loop)
{
    return (struct mgds_wqe_path){.qpn = loop->a.queue->qpn};
}

struct mgds_wqe_remote mgds_loopback_remote(const struct mgds_loopback *loop,
                                            size_t offset)
{
    return (struct mgds_wqe_remote){(uintptr_t)loop->b.memory + offset,
                                    loop->b.region.rkey};
}

struct mgds_wqe_local mgds_loopback_local(const struct mgds_loopback *loop,
                                          size_t offset, uint32_t bytes)
{
    return (struct mgds_wqe_local){(uintptr_t)loop->a.memory + offset, bytes,
                                   loop->a.region.lkey};
}

uint64_t *mgds_loopback_word(const struct mgds_loopback_side *side,
                             size_t offset)
{
    return (uint64_t *)(void *)(side->memory + offset);
}

void mgds_loopback_post(struct mgds_loopback *loop, struct mgds_wqe wqe)
{
    uint32_t index;

    (void)mgds_sendq_put(loop->a.queue, &wqe, &index);
}

void mgds_loopback_ring(struct mgds_loopback *loop)
{
    mgds_sendq_ring(loop->a.queue);
}

/* A completion is there. */
static bool hear(struct mgds_loopback *loop)
{
    return loop->heard.state != 0 ||
           mgds_sendq_poll(loop->a.queue, &loop->heard) == 1;
}

bool mgds_loopback_await(struct mgds_loopback *loop,
                         struct mgds_completion *out)
{
    uint64_t end = mgds_clock_ns() + DEADLINE_NS;

    while (!hear(loop)) {
        if (mgds_clock_ns() > end)
            return mgds_loopback_fail(loop, "no completion came in 5 s");
        sched_yield();
    }
    *out = loop->heard;
    memset(&loop->heard, 0, sizeof(loop->heard));
    return true;
}

bool mgds_loopback_expect_done(struct mgds_loopback *loop)
{
    struct mgds_completion completion;

    if (!mgds_loopback_await(loop, &completion))
        return false;
    return completion.state == MGDS_CQE_DONE ||
           mgds_loopback_fail_completion(loop, &completion);
}

bool mgds_loopback_expect_failed(struct mgds_loopback *loop, uint8_t syndrome)
{
    struct mgds_completion completion = {.state = MGDS_CQE_NOT_YET};

    if (!mgds_loopback_await(loop, &completion))
        return false;
    return (completion.state == MGDS_CQE_FAILED &&
            completion.syndrome == syndrome) ||
           mgds_loopback_fail_completion(loop, &completion);
}

/* A word that does not come is no news; what the CQ says meanwhile may be. */
bool mgds_loopback_await_word(struct mgds_loopback *loop, const uint64_t *word,
                              uint64_t value)
{
    uint64_t end = mgds_clock_ns() + DEADLINE_NS;
    uint64_t found;

    while ((found = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != value) {
        if (hear(loop) && loop->heard.state == MGDS_CQE_FAILED)
            return mgds_loopback_fail_completion(loop, &loop->heard);
        if (mgds_clock_ns() > end)
            return mgds_loopback_fail(
                loop, "a word was 0x%" PRIx64 ", not 0x%" PRIx64, found, value);
        sched_yield();
    }
    return true;
}
