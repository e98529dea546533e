/* Two QPs of shim/gds/hca that talk to each other, each with memory of its own,
 * on the ports that the process would choose. What fails fails the test. */
#ifndef MGDS_TEST_RAIL_SIDE_H
#define MGDS_TEST_RAIL_SIDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include <cmocka.h>

#include "shim/gds/hca/qp.h"
#include "shim/gds/hca/rail.h"
#include "shim/gds/hca/region.h"

enum { SIDE_MEMORY = 1 << 16, SIDE_BLOCKS = 64 };

extern const struct mgds_rail_settings side_settings;

/* Where memory is, and its key. */
struct side_memory {
    uint64_t address;
    uint32_t rkey;
};

struct rail_side {
    struct mgds_rail *rail;
    struct mgds_qp *qp;
    struct mgds_sendq *sendq; /* the QP's */
    struct mgds_region region;
    uint8_t *memory; /* SIDE_MEMORY */
};

/* The port that is chosen. */
struct mgds_port side_port(void);

/* A rail, a QP and memory; it tells the frame and the memory. */
void side_open(struct rail_side *side, uint8_t frame[MGDS_END_BYTES],
               struct side_memory *memory);
/* Agrees with the frame of the other end, and connects. */
void side_connect(struct rail_side *side, const uint8_t frame[MGDS_END_BYTES]);
void side_close(struct rail_side *side);

/* Posts: not rung yet. The ring has room for it; its index. */
uint32_t side_put(struct rail_side *side, struct mgds_wqe wqe);
/* The next completion, which comes. */
struct mgds_completion side_wait(struct rail_side *side);
/* The same; it is a success. */
void side_expect(struct rail_side *side, uint32_t index);

/* The next event of the rail, which comes. */
struct mgds_news;
void side_await_news(const struct rail_side *side, struct mgds_news *news);

/* Waits for the word, which comes. */
void side_await(const uint64_t *word, uint64_t value);

/* What WQEs of a side name. */
struct mgds_wqe_path side_path(const struct rail_side *side);
struct mgds_wqe_local side_local(const struct rail_side *side, size_t offset,
                                 uint32_t bytes);
struct mgds_wqe_remote side_remote(struct side_memory memory, size_t offset);

#endif
