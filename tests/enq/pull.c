/* Long messages: what all files of them share, and the list of the cases. */
#include "tests/enq/pull.h"

#include <stdlib.h>

const size_t *pull_sizes(void)
{
    static const size_t usual[] = {0,          1,
                                   64,         PULL_LIMIT - 1,
                                   PULL_LIMIT, PULL_LIMIT + 1,
                                   PULL_LONG,  262147,
                                   ENQ_LARGE,  ENQ_NO_SIZE};
    static const size_t full[] = {0,
                                  1,
                                  64,
                                  PULL_LIMIT - 1,
                                  PULL_LIMIT,
                                  PULL_LIMIT + 1,
                                  PULL_LONG,
                                  ENQ_LARGE,
                                  (8 << 20) + 5,
                                  (size_t)64 << 20,
                                  ENQ_NO_SIZE};

    return enq.full ? full : usual;
}

void pull_set_add(struct pull_set *set, size_t bytes)
{
    CHECK(set->count < PULL_MOST);
    set->request[set->count] = MPI_REQUEST_NULL;
    enq_buffer_open(&set->buffer[set->count++], bytes);
}

void pull_set_open(struct pull_set *set, int count, size_t bytes)
{
    set->count = 0;
    while (set->count < count)
        pull_set_add(set, bytes);
}

void pull_set_close(struct pull_set *set)
{
    while (set->count > 0)
        enq_buffer_close(&set->buffer[--set->count]);
}

void pull_set_fill(struct pull_set *set, unsigned first)
{
    for (int i = 0; i < set->count; i++)
        enq_fill(&set->buffer[i], first + (unsigned)i);
}

void pull_set_expect(const struct pull_set *set, unsigned first)
{
    for (int i = 0; i < set->count; i++)
        enq_expect(&set->buffer[i], set->buffer[i].bytes, first + (unsigned)i);
}

unsigned pull_message(int rank, int i)
{
    return 1 + (unsigned)(rank * 1000 + i);
}

int pull_peer(void)
{
    int peer = enq.rank ^ 1;

    return peer < enq.size ? peer : -1;
}

/* Nothing is left that MPI_Finalize would wait for, or name: a long message
 * whose requests were freed. The last of all. */
static void finalize_has_nothing_left(void)
{
    struct enq_buffer out, in;
    struct enq_lane lane;
    MPI_Request requests[2];
    int peer = pull_peer();

    enq_lane_open(&lane);
    enq_buffer_open(&out, PULL_LONG);
    enq_buffer_open(&in, PULL_LONG);
    if (peer >= 0) {
        enq_fill(&out, pull_message(enq.rank, 0));
        enq_irecv(&lane, &in, peer, 1, &requests[0]);
        enq_isend(&lane, &out, peer, 1, &requests[1]);
        for (int i = 0; i < 2; i++)
            ENQ_OK(MPI_Request_free(&requests[i]));
    }
    ENQ_OK(MPI_Finalize());
    MGDS_CU(cuStreamSynchronize(lane.cu));
    if (peer >= 0)
        enq_expect(&in, PULL_LONG, pull_message(peer, 0));
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

enum { CASES = 96 };

static int append(struct enq_case *all, int count, const struct enq_case *some)
{
    for (; some->name; some++) {
        CHECK(count < CASES - 2);
        all[count++] = *some;
    }
    return count;
}

int main(int argc, char **argv)
{
    static struct enq_case all[CASES]; /* the last ones stay empty */
    int count = append(all, 0, pull_order_cases);

    count = append(all, count, pull_match_cases);
    count = append(all, count, pull_receiver_cases);
    count = append(all, count, pull_memory_cases);
    count = append(all, count, pull_stall_cases);
    all[count] = (struct enq_case){"finalize_has_nothing_left", 2,
                                   finalize_has_nothing_left};
    return enq_main(argc, argv, "enq pull", all);
}
