/* Opening, connecting, waiting; see rail_side.h. */
#include "tests/hca/front/rail_side.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/gds/hca/choice.h"
#include "shim/gds/hca/news.h"

enum { SECONDS = 60 }; /* until it is lost */

const struct mgds_rail_settings side_settings = {
    .gid_index = MGDS_GID_ANY, .timeout = 14, .retries = 7, .rnr_retries = 7};

static void assert_done(int rc, const struct mgds_refusal *refusal)
{
    char text[MGDS_REFUSAL_TEXT];

    if (rc < 0)
        fail_msg("refused: %s", mgds_refusal_text(refusal, text));
}

struct mgds_port side_port(void)
{
    const struct mgds_choice choice = {.most = 1};
    struct mgds_refusal refusal;
    struct mgds_port *ports, chosen;
    int count = mgds_ports_list(&ports, "/sys");

    assert_true(count >= 0);
    count = mgds_choose_ports(ports, (unsigned)count, &choice, &refusal);
    assert_done(count, &refusal);
    chosen = ports[0];
    free(ports);
    return chosen;
}

static void register_memory(struct rail_side *side)
{
    struct mgds_region_memory memory = {.bytes = SIDE_MEMORY, .dmabuf = -1};
    struct mgds_refusal refusal;

    side->memory = aligned_alloc(4096, SIDE_MEMORY);
    assert_non_null(side->memory);
    memset(side->memory, 0, SIDE_MEMORY);
    memory.address = (uintptr_t)side->memory;
    assert_done(mgds_region_init(&side->region, side->rail, &memory, &refusal),
                &refusal);
    assert_int_equal(side->region.way, MGDS_REGION_HOST);
}

void side_open(struct rail_side *side, uint8_t frame[MGDS_END_BYTES],
               struct side_memory *memory)
{
    struct mgds_port port = side_port();
    struct mgds_end end = {.rails = 1};
    struct mgds_refusal refusal;

    assert_done(mgds_rail_open(&side->rail, &port, &side_settings, &refusal),
                &refusal);
    assert_done(mgds_qp_create(&side->qp, side->rail, SIDE_BLOCKS, &refusal),
                &refusal);
    side->sendq = mgds_qp_sendq(side->qp);
    assert_int_equal(side->sendq->blocks, SIDE_BLOCKS);
    register_memory(side);
    mgds_qp_describe(side->qp, &end.rail[0]);
    mgds_end_pack(&end, frame);
    *memory = (struct side_memory){(uintptr_t)side->memory, side->region.rkey};
}

void side_connect(struct rail_side *side, const uint8_t frame[MGDS_END_BYTES])
{
    struct mgds_end mine = {.rails = 1}, theirs;
    struct mgds_terms terms;
    struct mgds_refusal refusal;

    mgds_qp_describe(side->qp, &mine.rail[0]);
    assert_done(mgds_end_unpack(&theirs, frame, MGDS_END_BYTES, &refusal),
                &refusal);
    assert_done(mgds_end_agree(&mine, &theirs, &terms, &refusal), &refusal);
    assert_int_equal(terms.rails, 1);
    assert_done(
        mgds_qp_connect(side->qp, &theirs.rail[0], terms.mtu[0], &refusal),
        &refusal);
}

void side_close(struct rail_side *side)
{
    mgds_qp_destroy(side->qp);
    mgds_region_fini(&side->region);
    mgds_rail_close(side->rail);
    free(side->memory);
}

uint32_t side_put(struct rail_side *side, struct mgds_wqe wqe)
{
    uint32_t index;

    assert_int_equal(mgds_sendq_put(side->sendq, &wqe, &index), 0);
    return index;
}

static void rest_until(time_t end)
{
    if (time(NULL) > end)
        fail_msg("nothing came in %d s", SECONDS);
    sched_yield();
}

struct mgds_completion side_wait(struct rail_side *side)
{
    time_t end = time(NULL) + SECONDS;
    struct mgds_completion completion;

    while (mgds_sendq_poll(side->sendq, &completion) == 0)
        rest_until(end);
    return completion;
}

void side_expect(struct rail_side *side, uint32_t index)
{
    struct mgds_completion completion = side_wait(side);

    assert_int_equal(completion.state, MGDS_CQE_DONE);
    assert_int_equal(completion.index, index);
}

void side_await_news(const struct rail_side *side, struct mgds_news *news)
{
    struct pollfd events = {.fd = mgds_rail_news_fd(side->rail),
                            .events = POLLIN};

    assert_int_equal(poll(&events, 1, SECONDS * 1000), 1);
    assert_int_equal(mgds_rail_hear(side->rail, news), 1);
}

void side_await(const uint64_t *word, uint64_t value)
{
    time_t end = time(NULL) + SECONDS;

    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        rest_until(end);
}

struct mgds_wqe_path side_path(const struct rail_side *side)
{
    return (struct mgds_wqe_path){.qpn = side->sendq->qpn};
}

struct mgds_wqe_local side_local(const struct rail_side *side, size_t offset,
                                 uint32_t bytes)
{
    return (struct mgds_wqe_local){(uintptr_t)side->memory + offset, bytes,
                                   side->region.lkey};
}

struct mgds_wqe_remote side_remote(struct side_memory memory, size_t offset)
{
    return (struct mgds_wqe_remote){memory.address + offset, memory.rkey};
}
