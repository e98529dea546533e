/* The pattern of messages; cheap enough to check every byte that arrives. */
#include "osu-extensions/pattern.h"

#include <string.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64's finalizer: neighbouring numbers give unrelated ones. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t mgds_bench_seed(uint64_t row, uint64_t block, uint64_t sender)
{
    uint64_t x = scramble(row + GOLDEN);

    x = scramble(x ^ (block + GOLDEN));
    return scramble(x ^ (sender + GOLDEN));
}

/* One multiplication a word: checking must keep up with the messages. */
static uint64_t word_at(const struct mgds_bench_pattern *p, size_t index)
{
    uint64_t x = (p->seed + index) * GOLDEN;

    return x ^ (x >> 32) ^ p->flip;
}

static unsigned char byte_at(const struct mgds_bench_pattern *p, size_t offset)
{
    size_t position = p->position + offset;
    uint64_t word = word_at(p, position / sizeof(word));
    unsigned char bytes[sizeof(word)];

    memcpy(bytes, &word, sizeof(word));
    return bytes[position % sizeof(word)];
}

/* Bytes ahead of the first whole word of the stream. */
static size_t head_of(const struct mgds_bench_pattern *p, size_t size)
{
    size_t head =
        (sizeof(uint64_t) - p->position % sizeof(uint64_t)) % sizeof(uint64_t);

    return head < size ? head : size;
}

void mgds_bench_pattern_fill(struct mgds_bench_pattern pattern, void *at,
                             size_t size)
{
    unsigned char *to = at;
    size_t i = 0;
    size_t head = head_of(&pattern, size);
    size_t index = (pattern.position + head) / sizeof(uint64_t);

    for (; i < head; i++)
        to[i] = byte_at(&pattern, i);
    for (; size - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word = word_at(&pattern, index++);

        memcpy(to + i, &word, sizeof(word));
    }
    for (; i < size; i++)
        to[i] = byte_at(&pattern, i);
}

static int bytes_check(const struct mgds_bench_pattern *p,
                       const unsigned char *from, size_t begin, size_t end,
                       struct mgds_bench_mismatch *wrong)
{
    for (size_t i = begin; i < end; i++) {
        unsigned char expected = byte_at(p, i);

        if (from[i] == expected)
            continue;
        wrong->offset = i;
        wrong->expected = expected;
        wrong->got = from[i];
        return 1;
    }
    return 0;
}

int mgds_bench_pattern_check(struct mgds_bench_pattern pattern, const void *at,
                             size_t size, struct mgds_bench_mismatch *wrong)
{
    const unsigned char *from = at;
    size_t i = head_of(&pattern, size);
    size_t index = (pattern.position + i) / sizeof(uint64_t);

    if (bytes_check(&pattern, from, 0, i, wrong))
        return 1;
    for (; size - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, from + i, sizeof(word));
        if (word != word_at(&pattern, index++))
            break;
    }
    return bytes_check(&pattern, from, i, size, wrong);
}
