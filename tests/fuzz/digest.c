/* The digest of digest.h. */
#include "tests/fuzz/digest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shim/base/stats.h"

#if defined(__has_attribute)
#if __has_attribute(no_sanitize)
#define UNCHECKED __attribute__((no_sanitize("address")))
#endif
#endif
#ifndef UNCHECKED
#define UNCHECKED __attribute__((no_sanitize_address))
#endif

enum { ROOM = 1 << 13 };

/* Live memory: open addressing by address, half full at most. */
struct table {
    struct block {
        char *at;
        size_t bytes;
    } block[ROOM];
    unsigned count;
};

static struct table *table;

/* The linker's names for where variables lie. */
extern char __data_start[], edata[], __bss_start[], end[];

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *old);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *old);

void *digest_alloc(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        abort();
    return at;
}

static unsigned home_of(const char *at)
{
    return (unsigned)(((uintptr_t)at >> 4) * 2654435761u) % ROOM;
}

static unsigned place_of(const char *at)
{
    unsigned i = home_of(at);

    while (table->block[i].at && table->block[i].at != at)
        i = (i + 1) % ROOM;
    return i;
}

static void *add(void *at, size_t bytes)
{
    if (!table)
        table = digest_alloc(sizeof(*table));
    if (!at)
        return NULL;
    if (++table->count > ROOM / 2)
        abort();
    table->block[place_of(at)] = (struct block){at, bytes};
    return at;
}

/* Those behind it are put in again. */
static void drop(const char *at)
{
    unsigned i = place_of(at);

    if (!table->block[i].at)
        return;
    table->block[i].at = NULL;
    table->count--;
    for (i = (i + 1) % ROOM; table->block[i].at; i = (i + 1) % ROOM) {
        struct block moved = table->block[i];

        table->block[i].at = NULL;
        table->block[place_of(moved.at)] = moved;
    }
}

void *__wrap_malloc(size_t bytes)
{
    return add(__real_malloc(bytes), bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return add(__real_calloc(count, bytes), count * bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    void *now;

    if (old && table)
        drop(old);
    now = __real_realloc(old, bytes);
    return add(now, bytes);
}

void __wrap_free(void *old)
{
    if (old && table)
        drop(old);
    __real_free(old);
}

/* By hand, since that of a library would be checked. */
UNCHECKED static uint64_t hash(const char *at, size_t bytes)
{
    uint64_t value = UINT64_C(14695981039346656037) ^ (uintptr_t)at;
    size_t i = 0;

    for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t))
        value = (value ^ *(const uint64_t *)(const void *)&at[i]) *
                UINT64_C(0x9e3779b97f4a7c15);
    for (; i < bytes; i++)
        value = (value ^ (unsigned char)at[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 32;
}

static bool has_counters(const struct block *block)
{
    const char *mine = (const char *)mgds_stats_mine;

    return mine && mine >= block->at && mine < block->at + block->bytes;
}

uint64_t digest_of_all(void)
{
    uint64_t value = hash(__data_start, (size_t)(edata - __data_start)) +
                     hash(__bss_start, (size_t)(end - __bss_start));

    for (unsigned i = 0; table && i < ROOM; i++)
        if (table->block[i].at && !has_counters(&table->block[i]))
            value += hash(table->block[i].at, table->block[i].bytes);
    return value;
}
