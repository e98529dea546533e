/* Two processes for one test, who has a ring and who sees it, and the hosts
 * they play. The test itself touches no CUDA: each is forked before. */
#ifndef MGDS_TEST_RING_PAIR_H
#define MGDS_TEST_RING_PAIR_H

#include "tests/soft/ring_place.h"

/* A ring has three thirds, which have RING_UNITS units each. */
enum { RING_UNITS = 100, RING_ALL = 300 };

/* One process's part: a test of its own, with two GPUs and a socket to the
 * other. What is left open at its end fails under ASan. */
struct ring_part {
    const char *host;
    void (*run)(void **state);
};

/* Both parts must pass. */
void ring_pair_run(const struct ring_part *owner,
                   const struct ring_part *viewer);

/* Within a part: its contexts, one for each GPU; the first is current. */
extern struct mgds_context *ring_context[2];

void ring_send(const void *data, size_t bytes);
void ring_receive(void *data, size_t bytes);

/* Both have come here. */
void ring_meet(void);

/* The other process is gone. */
void ring_await_end(void);

/* Where a third begins, for who has the ring, and for who sees it. */
char *ring_third_of(const struct mgds_ring *ring, uint32_t third);
char *ring_third_seen(const struct mgds_ring_view *view, uint32_t third);

/* A ring that is all zero, told to the other; what the other told. */
struct mgds_ring *ring_make_and_tell(struct mgds_context *ctx);
struct mgds_ring_handle ring_heard(void);

struct mgds_ring_view *ring_view(struct mgds_context *ctx,
                                 const struct mgds_ring_handle *handle);

#endif
