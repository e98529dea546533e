/*
 * Many messages that wait for their receives, and many receives that wait for
 * their messages, with wildcards among them: each gets the message that MPI's
 * order gives it, and none of them costs more than it does alone. Two ranks:
 * enq_many COUNT.
 *
 * R0 is the only source, so who gets what is settled by the orders of the
 * calls: it is worked out here, from lists by tag.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/enq/enq.h"

enum { TAGS = 64, ANY = TAGS, WINDOW = 512, PROBED = 61 };

/* What a message brings. */
struct payload {
    uint32_t index, check;
};

struct call {
    int source, tag; /* or any */
    int message;     /* that it is to get */
};

static int count;
static struct call *calls;
static int *tags; /* of the messages */

static uint32_t check_of(int index)
{
    return (uint32_t)index * 0x9e3779b1u ^ 0x5bd1e995u;
}

/* The same at both ranks. */
static void draw(unsigned seed)
{
    for (int i = 0; i < count; i++)
        tags[i] = rand_r(&seed) % TAGS;
    for (int i = 0; i < count; i++)
        calls[i] = (struct call){0, tags[i], -1};
    for (int i = count - 1; i > 0; i--) {
        int k = rand_r(&seed) % (i + 1);
        struct call other = calls[k];

        calls[k] = calls[i];
        calls[i] = other;
    }
    for (int i = 0; i < count; i++) {
        if (rand_r(&seed) % 4 == 0)
            calls[i].source = MPI_ANY_SOURCE;
        if (rand_r(&seed) % 16 == 0)
            calls[i].tag = MPI_ANY_TAG;
    }
}

/* Indices by tag, in order. */
struct lists {
    int *index, first[TAGS + 2];
};

static int bin_of(int tag)
{
    return tag == MPI_ANY_TAG ? ANY : tag;
}

static void lists_make(struct lists *lists, int (*tag_of)(int i))
{
    int at[TAGS + 2] = {0};

    lists->index = malloc((size_t)count * sizeof(int));
    CHECK(lists->index);
    for (int i = 0; i < count; i++)
        at[bin_of(tag_of(i)) + 1]++;
    for (int bin = 0; bin <= ANY; bin++)
        at[bin + 1] += at[bin];
    for (int bin = 0; bin <= ANY + 1; bin++)
        lists->first[bin] = at[bin];
    for (int i = 0; i < count; i++)
        lists->index[at[bin_of(tag_of(i))]++] = i;
}

static int tag_of_message(int i)
{
    return tags[i];
}

static int tag_of_call(int i)
{
    return calls[i].tag;
}

/* All messages are there: calls take the first of theirs, one after the other.
 * A message that a call with any tag took is passed over. */
static void settle_calls(void)
{
    struct lists lists;
    int next[TAGS], any = 0;
    bool *taken = calloc((size_t)count, sizeof(*taken));

    CHECK(taken);
    lists_make(&lists, tag_of_message);
    for (int tag = 0; tag < TAGS; tag++)
        next[tag] = lists.first[tag];
    for (int i = 0; i < count; i++) {
        struct call *call = &calls[i];
        int bin = bin_of(call->tag), message;

        if (bin == ANY) {
            while (any < count && taken[any])
                any++;
            message = any < count ? any : -1;
        } else {
            while (next[bin] < lists.first[bin + 1] &&
                   taken[lists.index[next[bin]]])
                next[bin]++;
            message =
                next[bin] < lists.first[bin + 1] ? lists.index[next[bin]] : -1;
        }
        call->message = message;
        if (message >= 0)
            taken[message] = true;
    }
    free(taken);
    free(lists.index);
}

/* All receives are posted: each message goes to the first that accepts it. */
static void settle_messages(void)
{
    struct lists lists;
    int next[TAGS + 1];

    lists_make(&lists, tag_of_call);
    for (int bin = 0; bin <= ANY; bin++)
        next[bin] = lists.first[bin];
    for (int i = 0; i < count; i++) {
        int bin = tags[i], own, any;

        own = next[bin] < lists.first[bin + 1] ? lists.index[next[bin]] : count;
        any = next[ANY] < lists.first[ANY + 1] ? lists.index[next[ANY]] : count;
        if (own == count && any == count)
            continue;
        calls[own < any ? own : any].message = i;
        next[own < any ? bin : ANY]++;
    }
    free(lists.index);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static char *slot_of(const struct enq_buffer *all, int i)
{
    return all->at + (size_t)i * sizeof(struct payload);
}

static void wait_all(MPI_Request *requests, MPI_Status *statuses)
{
    for (int i = 0; i < count; i += WINDOW)
        ENQ_OK(MPI_Waitall(count - i < WINDOW ? count - i : WINDOW,
                           &requests[i], &statuses[i]));
}

static void send_all(const struct enq_lane *lane, const struct enq_buffer *all,
                     MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        ENQ_OK(MPIX_Isend_enqueue(slot_of(all, i), sizeof(struct payload),
                                  MPI_BYTE, 1, tags[i], lane->comm,
                                  &requests[i]));
}

/* The guard ahead of the messages stays as it is. */
static void fill(struct enq_buffer *all)
{
    const size_t guard = (size_t)(all->at - all->memory.at);
    char *bytes = malloc(guard + all->bytes);

    CHECK(bytes);
    mgds_test_memory_read(&all->memory, bytes, guard);
    for (int i = 0; i < count; i++) {
        const struct payload message = {(uint32_t)i, check_of(i)};

        memcpy(bytes + guard + (size_t)i * sizeof(message), &message,
               sizeof(message));
    }
    mgds_test_memory_write(&all->memory, bytes, guard + all->bytes);
    free(bytes);
}

/* As MPI_Mprobe finds it, which the receives before it leave. */
static void receive_probed(const struct enq_lane *lane, char *to,
                           const struct call *call, MPI_Request *request)
{
    MPI_Message message;
    MPI_Status status;

    ENQ_OK(MPI_Mprobe(call->source, call->tag, lane->comm, &message, &status));
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == tags[call->message]);
    ENQ_OK(MPI_Imrecv(to, sizeof(struct payload), MPI_BYTE, &message, request));
}

static void receive_all(const struct enq_lane *lane,
                        const struct enq_buffer *all, MPI_Request *requests,
                        bool probes)
{
    for (int i = 0; i < count; i++) {
        const struct call *call = &calls[i];

        requests[i] = MPI_REQUEST_NULL;
        if (call->message < 0)
            continue;
        if (probes && i % PROBED == 0)
            receive_probed(lane, slot_of(all, i), call, &requests[i]);
        else
            ENQ_OK(MPIX_Irecv_enqueue(slot_of(all, i), sizeof(struct payload),
                                      MPI_BYTE, call->source, call->tag,
                                      lane->comm, &requests[i]));
    }
}

static void expect_all(const struct enq_buffer *all, MPI_Status *statuses)
{
    struct payload *got = calloc((size_t)count, sizeof(*got));
    int received = 0;

    CHECK(got);
    enq_read(all, got, all->bytes);
    for (int i = 0; i < count; i++) {
        int message = calls[i].message;

        if (message < 0)
            continue;
        enq_status_is(&statuses[i], 0, tags[message], sizeof(*got));
        CHECK(got[i].index == (uint32_t)message);
        CHECK(got[i].check == check_of(message));
        received++;
    }
    CHECK(received > count / 2);
    free(got);
}

/* What no receive accepts any more is taken by receives of whatever is left. */
static void receive_rest(const struct enq_lane *lane)
{
    struct payload got;
    int left = 0;

    for (int i = 0; i < count; i++)
        left += calls[i].message < 0;
    for (int i = 0; i < left; i++)
        ENQ_OK(MPI_Recv(&got, sizeof(got), MPI_BYTE, MPI_ANY_SOURCE,
                        MPI_ANY_TAG, lane->comm, MPI_STATUS_IGNORE));
}

/* Messages come first, or receives do. */
static void exchange(bool messages_first)
{
    MPI_Request *requests = calloc((size_t)count, sizeof(MPI_Request));
    MPI_Status *statuses = calloc((size_t)count, sizeof(MPI_Status));
    struct enq_buffer all;
    struct enq_lane lane;
    double start = now();

    CHECK(requests && statuses);
    draw(messages_first ? 1 : 2);
    (messages_first ? settle_calls : settle_messages)();
    enq_lane_open(&lane);
    enq_buffer_open(&all, (size_t)count * sizeof(struct payload));
    if (enq.rank == 0)
        fill(&all);
    for (int turn = 0; turn < 2; turn++) {
        if (enq.rank == 0 && (turn == 0) == messages_first)
            send_all(&lane, &all, requests);
        if (enq.rank == 1 && (turn == 1) == messages_first)
            receive_all(&lane, &all, requests, messages_first);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (enq.rank == 1) {
        wait_all(requests, statuses);
        receive_rest(&lane);
        expect_all(&all, statuses);
        printf("%d messages, %s first: %.2f s\n", count,
               messages_first ? "messages" : "receives", now() - start);
    } else if (enq.rank == 0) {
        wait_all(requests, statuses);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&all);
    free(statuses);
    free(requests);
}

static void messages_wait(void)
{
    exchange(true);
}

static void receives_wait(void)
{
    exchange(false);
}

static const struct enq_case cases[] = {
    {"messages_wait", 2, messages_wait},
    {"receives_wait", 2, receives_wait},
    {NULL, 0, NULL},
};

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    count = atoi(argv[1]);
    calls = calloc((size_t)count, sizeof(*calls));
    tags = calloc((size_t)count, sizeof(*tags));
    CHECK(count > 0 && calls && tags);
    argv[1] = argv[0];
    return enq_main(argc - 1, argv + 1, "many", cases);
}
