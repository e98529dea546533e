/*
 * Long messages, that is longer than the limit that a run sets: their receiver
 * copies them out of the sender's memory, and the sender's wait stands until it
 * has. A case passes wherever MPI says it must, however the bytes travel: none
 * counts on a send that ends before its receive is called and, if it is
 * enqueued, reached.
 */
#ifndef MGDS_TESTS_ENQ_PULL_H
#define MGDS_TESTS_ENQ_PULL_H

#include "tests/enq/enq.h"

/* The limit of the runs, and a length above it that no block divides. */
enum { PULL_LIMIT = 4096, PULL_LONG = 70001 };

/* Lengths around the limit and above, ended by ENQ_NO_SIZE. */
const size_t *pull_sizes(void);

/* Buffers, requests and statuses of messages that go together. */
enum { PULL_MOST = 64 };
struct pull_set {
    int count;
    struct enq_buffer buffer[PULL_MOST];
    MPI_Request request[PULL_MOST];
    MPI_Status status[PULL_MOST];
};
void pull_set_open(struct pull_set *set, int count, size_t bytes);
void pull_set_add(struct pull_set *set, size_t bytes); /* of one opened */
void pull_set_close(struct pull_set *set);
/* Buffer i holds, and must hold, message first + i. */
void pull_set_fill(struct pull_set *set, unsigned first);
void pull_set_expect(const struct pull_set *set, unsigned first);

/* Which message is number i of a rank's. */
unsigned pull_message(int rank, int i);

/* The rank that this one makes a pair with, or -1: the last one of an odd
 * number has none. */
int pull_peer(void);

/* The cases of each file, ended by one without a name. */
extern const struct enq_case pull_order_cases[], pull_match_cases[],
    pull_receiver_cases[], pull_memory_cases[], pull_stall_cases[];

#endif
