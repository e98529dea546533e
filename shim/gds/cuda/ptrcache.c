/* The table of GPU allocations; see ptrcache.h. */
#include "shim/gds/cuda/ptrcache.h"

#include <assert.h>
#include <stdatomic.h>

/* Addresses are hashed by page: a large buffer takes as many entries as it
 * has pages that messages start in. 4 ways, for buffers that collide. */
enum { SETS = 256, WAYS = 4, PAGE_SHIFT = 12 };

enum word { BASE, SIZE, ID, CTX, CTX_ID, TRAITS, WORDS };

/* One cache line, so that a lookup rarely takes more than two. */
struct entry {
    _Atomic uint64_t seq;
    _Atomic uint64_t words[WORDS];
};

static struct entry entries[SETS][WAYS];

/* From the first to behind the last byte of all that was ever put in: most host
 * memory lies elsewhere. Each word moves one way only. */
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

/* TRAITS: kind, device and handle types are small numbers. */
enum { KIND_BITS = 8, DEVICE_BITS = 16 };

static_assert(MGDS_PTR_IMPORTED < 1 << KIND_BITS, "kinds fit");

static uint64_t pack_traits(const struct mgds_ptr *ptr)
{
    return (uint64_t)ptr->kind | (uint64_t)(uint16_t)ptr->device << KIND_BITS |
           (uint64_t)ptr->handle_types << (KIND_BITS + DEVICE_BITS);
}

static struct entry *set_of(uintptr_t addr)
{
    uint64_t page = addr >> PAGE_SHIFT;

    /* Fibonacci hashing: neighbours spread, and so do 2 MiB steps. */
    return entries[page * 0x9e3779b97f4a7c15u >> 56];
}

static_assert(SETS == 1 << (64 - 56), "the hash names every set");

static uint64_t word_of(const struct entry *entry, enum word word)
{
    return atomic_load_explicit(&entry->words[word], memory_order_acquire);
}

/* In motion, an entry covers what it likes. */
static bool covers_addr(const struct entry *entry, uintptr_t addr)
{
    return addr - word_of(entry, BASE) < word_of(entry, SIZE);
}

/* A consistent copy of an entry that covers the address, or false. */
static bool read_entry(struct mgds_ptr *out, const struct entry *entry,
                       uintptr_t addr)
{
    uint64_t seq = atomic_load_explicit(&entry->seq, memory_order_acquire);
    uint64_t traits;

    if (!covers_addr(entry, addr))
        return false;
    traits = word_of(entry, TRAITS);
    *out = (struct mgds_ptr){
        .kind = (enum mgds_ptr_kind)(traits & 0xff),
        .device = (int)(traits >> KIND_BITS & 0xffff),
        .id = word_of(entry, ID),
        .base = word_of(entry, BASE),
        .size = word_of(entry, SIZE),
        .ctx = (CUcontext)(uintptr_t)word_of(entry, CTX),
        .ctx_id = word_of(entry, CTX_ID),
        .handle_types = (unsigned)(traits >> (KIND_BITS + DEVICE_BITS)),
    };
    return !(seq & 1) &&
           atomic_load_explicit(&entry->seq, memory_order_relaxed) == seq;
}

bool mgds_ptrcache_get(struct mgds_ptr *out, uintptr_t addr)
{
    const struct entry *set = set_of(addr);

    for (int way = 0; way < WAYS; way++)
        if (read_entry(out, &set[way], addr))
            return true;
    return false;
}

/* An entry in motion may be missed, as get misses it, or be found with the base
 * of one allocation and the size of another: then get has the last word. */
bool mgds_ptrcache_covers(uintptr_t addr)
{
    const struct entry *set;

    if (addr < atomic_load_explicit(&lowest, memory_order_relaxed) ||
        addr >= atomic_load_explicit(&highest, memory_order_relaxed))
        return false;
    set = set_of(addr);
    for (int way = 0; way < WAYS; way++)
        if (covers_addr(&set[way], addr))
            return true;
    return false;
}

/* The entry that knows addr by another name, else an empty one, else one that
 * the id picks: ids count up, so the ways take turns. */
static struct entry *pick_entry(struct entry *set, const struct mgds_ptr *ptr,
                                uintptr_t addr)
{
    struct entry *empty = NULL;
    struct mgds_ptr known;

    for (int way = 0; way < WAYS; way++) {
        if (read_entry(&known, &set[way], addr))
            return &set[way];
        if (atomic_load_explicit(&set[way].seq, memory_order_relaxed) == 0)
            empty = &set[way];
    }
    return empty ? empty : &set[ptr->id % WAYS];
}

static void write_entry(struct entry *entry, const uint64_t words[WORDS])
{
    uint64_t seq = atomic_load_explicit(&entry->seq, memory_order_relaxed);

    if (seq & 1 || !atomic_compare_exchange_strong_explicit(
                       &entry->seq, &seq, seq + 1, memory_order_acquire,
                       memory_order_relaxed))
        return;
    /* Release, each: the odd seq is visible before the word is. */
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&entry->words[i], words[i], memory_order_release);
    atomic_store_explicit(&entry->seq, seq + 2, memory_order_release);
}

/* Relaxed: as with entries, who must find what another thread has put in has
 * heard of it from that thread. */
static void widen_bounds(uintptr_t from, uintptr_t to)
{
    uintptr_t low = atomic_load_explicit(&lowest, memory_order_relaxed);
    uintptr_t high = atomic_load_explicit(&highest, memory_order_relaxed);

    while (from < low && !atomic_compare_exchange_weak(&lowest, &low, from))
        ;
    while (to > high && !atomic_compare_exchange_weak(&highest, &high, to))
        ;
}

void mgds_ptrcache_put(const struct mgds_ptr *ptr, uintptr_t addr)
{
    const uint64_t words[WORDS] = {
        [BASE] = ptr->base,     [SIZE] = ptr->size,
        [ID] = ptr->id,         [CTX] = (uintptr_t)ptr->ctx,
        [CTX_ID] = ptr->ctx_id, [TRAITS] = pack_traits(ptr),
    };

    widen_bounds(ptr->base, ptr->base + ptr->size);
    write_entry(pick_entry(set_of(addr), ptr, addr), words);
}

void mgds_ptrcache_drop(uintptr_t addr)
{
    static const uint64_t nothing[WORDS];
    struct entry *set = set_of(addr);
    struct mgds_ptr known;

    for (int way = 0; way < WAYS; way++)
        if (read_entry(&known, &set[way], addr))
            write_entry(&set[way], nothing);
}
