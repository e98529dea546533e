/* Ways between ranks, from what both ends said; see pairs.h. */
#include "tools/doctor/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct mgds_pair *x = a, *y = b;

    if (x->enqueued != y->enqueued)
        return x->enqueued ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static const struct mgds_rank_facts *rank_at(const struct mgds_facts *facts,
                                             int rank)
{
    return &facts->rank[rank];
}

static bool share_host(const struct mgds_facts *facts, int a, int b)
{
    return strcmp(rank_at(facts, a)->host, rank_at(facts, b)->host) == 0;
}

/* Boot id and IPC namespace (shim/base/host.h): one boot, two namespaces. */
static bool are_containers(const struct mgds_facts *facts, int a, int b)
{
    const char *x = rank_at(facts, a)->host, *y = rank_at(facts, b)->host;
    size_t boot = strcspn(x, "+");

    return x[boot] == '+' && strncmp(x, y, boot + 1) == 0 && strcmp(x, y) != 0;
}

static bool takes_part(const struct mgds_rank_facts *rank)
{
    return rank->messages.asked && !rank->messages.error[0];
}

/* The library does not see that hosts are containers. */
static void add_remedy(struct mgds_pair *pair, const struct mgds_facts *facts)
{
    if (pair->enqueued && !pair->remedy[0] && !pair->same_host &&
        are_containers(facts, pair->from, pair->to))
        pair->remedy = "the two are containers of one machine: start these "
                       "with --ipc=host and --pid=host";
}

static void fill(struct mgds_pair *pair, const struct mgds_rank_facts *rank,
                 json_t *way)
{
    int peer, sent, enqueued;

    json_unpack(way, "{s:i s:b s:b s:I s:s s:s s:s}", "peer", &peer, "sent",
                &sent, "enqueued", &enqueued, "bytes", &pair->bytes,
                "transport", &pair->transport, "reason", &pair->reason,
                "remedy", &pair->remedy);
    pair->enqueued = enqueued;
    pair->from = sent ? rank->rank : peer;
    pair->to = sent ? peer : rank->rank;
}

static bool is_sent(const json_t *way)
{
    return json_is_true(json_object_get(way, "sent"));
}

static void take_sent(struct mgds_pairs *pairs, const struct mgds_facts *facts,
                      const struct mgds_rank_facts *rank)
{
    json_t *way;
    size_t i;

    json_array_foreach (rank->messages.ways, i, way) {
        struct mgds_pair *pair = &pairs->pair[pairs->count];

        if (!is_sent(way))
            continue;
        fill(pair, rank, way);
        pair->same_host = share_host(facts, pair->from, pair->to);
        pairs->count++;
    }
}

/* What the receiver says counts where the sender knows of nothing better. */
static void take_received(struct mgds_pairs *pairs,
                          const struct mgds_rank_facts *rank)
{
    struct mgds_pair seen = {0}, *pair;
    json_t *way;
    size_t i;

    json_array_foreach (rank->messages.ways, i, way) {
        if (is_sent(way))
            continue;
        fill(&seen, rank, way);
        pair = bsearch(&seen, pairs->pair, pairs->count, sizeof(seen), compare);
        if (!pair || pair->reason[0] || !seen.reason[0])
            continue;
        pair->transport = seen.transport;
        pair->reason = seen.reason;
        pair->remedy = seen.remedy;
    }
}

/* Two ranks of which one takes no part: why, once for each use. */
static void take_absent(struct mgds_pairs *pairs,
                        const struct mgds_facts *facts, int from, int to)
{
    const struct mgds_rank_facts *absent = rank_at(facts, from);

    if (takes_part(absent))
        absent = rank_at(facts, to);
    for (int enqueued = 0; enqueued < 2; enqueued++)
        pairs->pair[pairs->count++] = (struct mgds_pair){
            .from = from,
            .to = to,
            .same_host = share_host(facts, from, to),
            .enqueued = enqueued,
            .at_fault = mgds_facts_of_host(facts, absent)->gpu.count > 0,
            .transport = "none",
            .reason = absent->messages.error,
            .remedy =
                "mend what the other checks say of its driver and library"};
}

static size_t count_all(const struct mgds_facts *facts)
{
    size_t count = 0;

    for (size_t i = 0; i < facts->count; i++)
        count += json_array_size(facts->rank[i].messages.ways);
    return count + 2 * facts->count * facts->count;
}

static void take_all(struct mgds_pairs *pairs, const struct mgds_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        take_sent(pairs, facts, &facts->rank[i]);
    for (int a = 0; a < pairs->ranks; a++)
        for (int b = 0; b < pairs->ranks; b++)
            if (!takes_part(rank_at(facts, a)) ||
                !takes_part(rank_at(facts, b)))
                take_absent(pairs, facts, a, b);
    qsort(pairs->pair, pairs->count, sizeof(*pairs->pair), compare);
    for (size_t i = 0; i < facts->count; i++)
        take_received(pairs, &facts->rank[i]);
    for (size_t i = 0; i < pairs->count; i++)
        add_remedy(&pairs->pair[i], facts);
}

int mgds_pairs_create(struct mgds_pairs *pairs, const struct mgds_facts *facts)
{
    *pairs = (struct mgds_pairs){.ranks = (int)facts->count};
    if (facts->count == 0 || !facts->rank[0].messages.asked)
        return 0;
    pairs->pair = calloc(count_all(facts), sizeof(*pairs->pair));
    if (!pairs->pair)
        return -ENOMEM;
    take_all(pairs, facts);
    return 0;
}

void mgds_pairs_fini(struct mgds_pairs *pairs)
{
    free(pairs->pair);
    *pairs = (struct mgds_pairs){0};
}
