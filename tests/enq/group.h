/* Cases of groups: what their files use of each other. */
#ifndef MGDS_TESTS_ENQ_GROUP_H
#define MGDS_TESTS_ENQ_GROUP_H

#include "tests/enq/enq.h"

enum { TAG = 3, SHORT = 96, LONG = 300000 };

/* A message to the rank on the right, and one from the rank on the left, of
 * which each is filled anew. */
struct exchange {
    const struct enq_lane *lane;
    int right, left;
    struct enq_buffer out, in, source;
    MPI_Request request[2];
    MPI_Status status[2];
};

void group_open(const struct enq_lane *lane);
void group_close(const struct enq_lane *lane);

void exchange_open(struct exchange *x, const struct enq_lane *lane,
                   size_t bytes);
void exchange_open_kind(struct exchange *x, const struct enq_lane *lane,
                        size_t bytes, enum mgds_test_kind kind);
void exchange_close(struct exchange *x);
/* The message that is sent next, and nothing was received. */
void exchange_fill(struct exchange *x, unsigned message);
void exchange_start(struct exchange *x);
void exchange_wait(struct exchange *x);
/* The stream has passed the wait. */
void exchange_expect(struct exchange *x, unsigned message);

/* Of a case of one exchange: its lane and itself, whose message is 1; and at
 * the end, once the stream is through, the message has come, and both go. */
void exchange_begin(struct exchange *x, struct enq_lane *lane, size_t bytes);
void exchange_end(struct exchange *x, struct enq_lane *lane, unsigned message);

/* group_flush.c */
void group_flushes(void);
void group_goes_on(void);
void group_comm_goes(void);
void group_is_freed(void);
void group_thread_ends(void);
void group_left_open(void);

/* group_refuse.c */
void group_refused(void);
void group_captured(void);
void group_errors_inside(void);
void group_truncated(void);
void group_freed_buffer(void);
void group_of_another_thread(void);
void group_beside_a_thread(void);

#endif
