/* Memory as GPU code sees it: every ordered load and store, every fence, the
 * wide accesses. One meaning, two forms: PTX on the GPU, __atomic on the host,
 * where the same code is run by threads. The only inline assembly of the
 * project; C and C++.
 *
 * Scope is the system: other GPUs, the host and NICs are spoken to as well as
 * other blocks. Addresses are aligned to the size of the access.
 *
 * On the software GPU a device pointer is not where the memory is: host forms
 * add the displacement of the window (docs/sim-gpu.md). Without a software GPU
 * the window is empty and pointers mean themselves. */
#ifndef MGDS_DEVICE_MEM_H
#define MGDS_DEVICE_MEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MGDS_ON_GPU 1
#define MGDS_FN static __device__ __forceinline__
#define MGDS_FAR static __device__ __noinline__ /* what is seldom called */
#else
#define MGDS_ON_GPU 0
#define MGDS_FN static inline
#define MGDS_FAR static inline
#include <string.h>
#include <time.h>
#endif

/* Device addresses [base, base + size) lie at address + displacement. */
struct mgds_mem_window {
    uintptr_t base;
    size_t size;
    size_t displacement;
};

/* 16 bytes: in message slots `data` and the `word` that says whose it is. */
struct mgds_unit {
    uint64_t data;
    uint64_t word;
};

#if MGDS_ON_GPU

MGDS_FN void *mgds_mem_at(const void *p)
{
    return (void *)(uintptr_t)p;
}

/* All that was written before by this thread, or seen by it, comes before
 * what follows, for everybody. */
MGDS_FN void mgds_fence_sys(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* As above, for threads of this GPU. What they release in turn covers it. */
MGDS_FN void mgds_fence_gpu(void)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* As mgds_fence_sys, and a store before it also comes before a load behind it.
 */
MGDS_FN void mgds_fence_sc(void)
{
    asm volatile("fence.sc.sys;" ::: "memory");
}

/* A device finds all stores ahead of the fence, anywhere, before it finds one
 * behind it, in memory or in a register of the device. */
MGDS_FN void mgds_fence_device(void)
{
    mgds_fence_sys();
}

/* What follows sees everything that was released with the value read. */
MGDS_FN uint32_t mgds_load_acquire32(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(p)
                 : "memory");
    return v;
}

MGDS_FN uint64_t mgds_load_acquire64(const uint64_t *p)
{
    uint64_t v;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
                 : "=l"(v)
                 : "l"(p)
                 : "memory");
    return v;
}

/* A poll: whole, fresh, no order. */
MGDS_FN uint32_t mgds_load_relaxed32(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(p)
                 : "memory");
    return v;
}

MGDS_FN uint64_t mgds_load_relaxed64(const uint64_t *p)
{
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                 : "=l"(v)
                 : "l"(p)
                 : "memory");
    return v;
}

/* Whoever acquires the value sees all that this thread did before. */
MGDS_FN void mgds_store_release32(uint32_t *p, uint32_t v)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v)
                 : "memory");
}

MGDS_FN void mgds_store_release64(uint64_t *p, uint64_t v)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v)
                 : "memory");
}

MGDS_FN void mgds_store_relaxed32(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v)
                 : "memory");
}

MGDS_FN void mgds_store_relaxed64(uint64_t *p, uint64_t v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v)
                 : "memory");
}

/* Behind reads of units alone, each of which has found its serial. Nothing puts
 * the store behind them, and nothing has to: a unit is written again only by
 * who has seen the store, so a read that came after it would have found another
 * serial, and not have led to the store. */
MGDS_FN void mgds_store_having_units64(uint64_t *p, uint64_t v)
{
    mgds_store_relaxed64(p, v);
}

/* Behind reads of bytes, of which `none` is made: it is 0, which no compiler
 * knows (mgds_none_of). So the value that is stored depends on the values that
 * were read, and no read can have what somebody stores because of this store:
 * PTX lets no value come out of thin air. A release would order more, the
 * stores of what was read among it, and waits for those: 1.4 microseconds
 * (measured, docs/decisions.md). MGDS_READS_RELEASED has it all the same. */
#ifndef MGDS_READS_RELEASED
#define MGDS_READS_RELEASED 0
#endif
MGDS_FN void mgds_store_having_read64(uint64_t *p, uint64_t v, uint64_t none)
{
    if (MGDS_READS_RELEASED)
        mgds_store_release64(p, v);
    else
        mgds_store_relaxed64(p, v + none);
}

/* 0, made of what was read. address: of memory, where the highest bit is 0. */
MGDS_FN uint64_t mgds_none_of(uint64_t read, uint64_t address)
{
    return read & (address >> 63);
}

/* The bytes that this thread has read, or knows that others of this GPU have,
 * come before the store, for a thread of this GPU that acquires it. */
MGDS_FN void mgds_store_having_read_gpu64(uint64_t *p, uint64_t v)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v)
                 : "memory");
}

/* Behind a fence of this thread, with which it releases all that was before
 * that. */
MGDS_FN void mgds_store_fenced64(uint64_t *p, uint64_t v)
{
    mgds_store_relaxed64(p, v);
}

/* Adds among threads of this GPU only, acquiring and releasing; the value
 * before. Never shared with a CPU. */
MGDS_FN uint32_t mgds_add_gpu32(uint32_t *p, uint32_t v)
{
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(p), "r"(v)
                 : "memory");
    return before;
}

/* The value before, which this one takes the place of, for threads of this GPU
 * only. No order with anything else. */
MGDS_FN uint64_t mgds_exchange_gpu64(uint64_t *p, uint64_t v)
{
    uint64_t before;
    asm volatile("atom.relaxed.gpu.global.exch.b64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(p), "l"(v)
                 : "memory");
    return before;
}

/* The value before; it stays if it is not less than this one. Else as
 * mgds_exchange_gpu64. */
MGDS_FN uint64_t mgds_max_gpu64(uint64_t *p, uint64_t v)
{
    uint64_t before;
    asm volatile("atom.relaxed.gpu.global.max.u64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(p), "l"(v)
                 : "memory");
    return before;
}

/* As mgds_store_fenced64, for threads of this GPU: what they cannot see need
 * not have come where it goes. A word that is larger already stays. */
MGDS_FN void mgds_raise_fenced_gpu64(uint64_t *p, uint64_t v)
{
    asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(p), "l"(v)
                 : "memory");
}

/* A unit goes and comes whole, as one 16-byte access: whoever reads the word
 * has the data of the same store. PTX promises that of .b128, which is one
 * scalar, and not of vectors. No order with anything else. */
MGDS_FN void mgds_store_unit(struct mgds_unit *p, struct mgds_unit v)
{
    asm volatile("{\n\t.reg .b128 u;\n\t"
                 "mov.b128 u, {%1, %2};\n\t"
                 "st.relaxed.sys.global.b128 [%0], u;\n\t}" ::"l"(p),
                 "l"(v.data), "l"(v.word)
                 : "memory");
}

MGDS_FN struct mgds_unit mgds_load_unit(const struct mgds_unit *p)
{
    struct mgds_unit v;
    asm volatile("{\n\t.reg .b128 u;\n\t"
                 "ld.relaxed.sys.global.b128 u, [%2];\n\t"
                 "mov.b128 {%0, %1}, u;\n\t}"
                 : "=l"(v.data), "=l"(v.word)
                 : "l"(p)
                 : "memory");
    return v;
}

/* The same, one read for the threads of a warp that are here together: *mine is
 * 1 in one of them. */
MGDS_FN struct mgds_unit mgds_load_once_unit(const struct mgds_unit *p,
                                             int *mine)
{
    unsigned here = __activemask(), lane = threadIdx.x % 32;
    int reader = __ffs((int)here) - 1;
    struct mgds_unit v = {0, 0};

    *mine = (int)lane == reader;
    if (*mine)
        v = mgds_load_unit(p);
    v.data = __shfl_sync(here, (unsigned long long)v.data, reader);
    v.word = __shfl_sync(here, (unsigned long long)v.word, reader);
    return v;
}

/* Plain data: no order, and not whole. Never through the read-only cache. */
MGDS_FN struct mgds_unit mgds_load16(const void *p)
{
    struct mgds_unit v;
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.data), "=l"(v.word)
                 : "l"(p)
                 : "memory");
    return v;
}

MGDS_FN void mgds_store16(void *p, struct mgds_unit v)
{
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v.data),
                 "l"(v.word)
                 : "memory");
}

MGDS_FN uint8_t mgds_load8(const void *p)
{
    return *(const volatile uint8_t *)p;
}

MGDS_FN void mgds_store8(void *p, uint8_t v)
{
    *(volatile uint8_t *)p = v;
}

/* Between two polls: lets others run. */
MGDS_FN void mgds_mem_pause(void)
{
    asm volatile("nanosleep.u32 20;");
}

/* Programmatic dependent launch. `wait`: what the kernel before in the stream
 * did is there from here on; all kernels of ours begin with it. `ready`: the
 * kernel behind may be launched, and stand in its wait: only where this one
 * waits for nobody any more, since what is behind may take all the room that
 * there is on the GPU. No effect without the attribute. */
MGDS_FN void mgds_grid_wait(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

MGDS_FN void mgds_grid_ready(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#else

#ifdef __SANITIZE_THREAD__
#define MGDS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MGDS_TSAN 1
#endif
#endif

/* Where the window of this object's software GPU is; empty without one. Each
 * object that contains kernels defines it (device/host.c). */
extern struct mgds_mem_window mgds_mem_window;

MGDS_FN void *mgds_mem_at(const void *p)
{
    uintptr_t addr = (uintptr_t)p;

    if (addr - mgds_mem_window.base < mgds_mem_window.size)
        addr += mgds_mem_window.displacement;
    return (void *)addr;
}

/* Where a word for an atomic access is. The thread sanitizer makes the access
 * inside its runtime, with locks held: a fault there could not be recovered
 * from, so the address is tried before. gcc and clang keep a function that is
 * not instrumented out of those that are; saying noinline, too, is a warning.
 */
#ifdef MGDS_TSAN
__attribute__((no_sanitize("thread"))) static inline void *
mgds_mem_word(const void *p)
{
    void *at = mgds_mem_at(p);

    (void)*(volatile char *)at;
    return at;
}
#else
MGDS_FN void *mgds_mem_word(const void *p)
{
    return mgds_mem_at(p);
}
#endif

/* The thread sanitizer does not know fences: an atomic of its own per fence
 * would order too much, so code must order by the words it shares. */
MGDS_FN void mgds_fence_sys(void)
{
#ifndef MGDS_TSAN
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

MGDS_FN void mgds_fence_gpu(void)
{
    mgds_fence_sys();
}

MGDS_FN void mgds_fence_sc(void)
{
#ifdef MGDS_TSAN
    static uint32_t all;
    __atomic_fetch_add(&all, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Registers may be write-combining memory, to which fences between threads do
 * not reach. */
MGDS_FN void mgds_fence_device(void)
{
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb st" ::: "memory");
#else
    __sync_synchronize();
#endif
}

MGDS_FN uint32_t mgds_load_acquire32(const uint32_t *p)
{
    return __atomic_load_n((const uint32_t *)mgds_mem_word(p),
                           __ATOMIC_ACQUIRE);
}

MGDS_FN uint64_t mgds_load_acquire64(const uint64_t *p)
{
    return __atomic_load_n((const uint64_t *)mgds_mem_word(p),
                           __ATOMIC_ACQUIRE);
}

MGDS_FN uint32_t mgds_load_relaxed32(const uint32_t *p)
{
    return __atomic_load_n((const uint32_t *)mgds_mem_word(p),
                           __ATOMIC_RELAXED);
}

MGDS_FN uint64_t mgds_load_relaxed64(const uint64_t *p)
{
    return __atomic_load_n((const uint64_t *)mgds_mem_word(p),
                           __ATOMIC_RELAXED);
}

MGDS_FN void mgds_store_release32(uint32_t *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)mgds_mem_word(p), v, __ATOMIC_RELEASE);
}

MGDS_FN void mgds_store_release64(uint64_t *p, uint64_t v)
{
    __atomic_store_n((uint64_t *)mgds_mem_word(p), v, __ATOMIC_RELEASE);
}

MGDS_FN void mgds_store_relaxed32(uint32_t *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)mgds_mem_word(p), v, __ATOMIC_RELAXED);
}

MGDS_FN void mgds_store_relaxed64(uint64_t *p, uint64_t v)
{
    __atomic_store_n((uint64_t *)mgds_mem_word(p), v, __ATOMIC_RELAXED);
}

/* A unit has two halves here, and the one that is read last no serial. */
MGDS_FN void mgds_store_having_units64(uint64_t *p, uint64_t v)
{
    mgds_store_release64(p, v);
}

MGDS_FN void mgds_store_having_read64(uint64_t *p, uint64_t v, uint64_t none)
{
    mgds_store_release64(p, v + none);
}

MGDS_FN uint64_t mgds_none_of(uint64_t read, uint64_t address)
{
    (void)read;
    (void)address;
    return 0;
}

MGDS_FN void mgds_store_having_read_gpu64(uint64_t *p, uint64_t v)
{
    mgds_store_release64(p, v);
}

MGDS_FN void mgds_store_fenced64(uint64_t *p, uint64_t v)
{
    mgds_store_release64(p, v);
}

MGDS_FN uint32_t mgds_add_gpu32(uint32_t *p, uint32_t v)
{
    return __atomic_fetch_add((uint32_t *)mgds_mem_word(p), v,
                              __ATOMIC_ACQ_REL);
}

MGDS_FN uint64_t mgds_exchange_gpu64(uint64_t *p, uint64_t v)
{
    return __atomic_exchange_n((uint64_t *)mgds_mem_word(p), v,
                               __ATOMIC_RELAXED);
}

/* The value before; it stays if it is not less than this one. */
MGDS_FN uint64_t mgds_mem_raise(uint64_t *p, uint64_t v, int order)
{
    uint64_t *at = (uint64_t *)mgds_mem_word(p);
    uint64_t before = __atomic_load_n(at, __ATOMIC_RELAXED);

    while (before < v && !__atomic_compare_exchange_n(at, &before, v, 0, order,
                                                      __ATOMIC_RELAXED)) {
    }
    return before;
}

MGDS_FN uint64_t mgds_max_gpu64(uint64_t *p, uint64_t v)
{
    return mgds_mem_raise(p, v, __ATOMIC_RELAXED);
}

MGDS_FN void mgds_raise_fenced_gpu64(uint64_t *p, uint64_t v)
{
    mgds_mem_raise(p, v, __ATOMIC_RELEASE);
}

/* Two halves here: the word is stored last and loaded first, which gives the
 * same promise as long as a unit is not overwritten while it is read. */
MGDS_FN void mgds_store_unit(struct mgds_unit *p, struct mgds_unit v)
{
    struct mgds_unit *at = (struct mgds_unit *)mgds_mem_word(p);

    __atomic_store_n(&at->data, v.data, __ATOMIC_RELAXED);
    __atomic_store_n(&at->word, v.word, __ATOMIC_RELEASE);
}

MGDS_FN struct mgds_unit mgds_load_unit(const struct mgds_unit *p)
{
    const struct mgds_unit *at = (const struct mgds_unit *)mgds_mem_word(p);
    struct mgds_unit v;

    v.word = __atomic_load_n(&at->word, __ATOMIC_ACQUIRE);
    v.data = __atomic_load_n(&at->data, __ATOMIC_RELAXED);
    return v;
}

MGDS_FN struct mgds_unit mgds_load_once_unit(const struct mgds_unit *p,
                                             int *mine)
{
    *mine = 1;
    return mgds_load_unit(p);
}

MGDS_FN struct mgds_unit mgds_load16(const void *p)
{
    struct mgds_unit v;

    memcpy(&v, mgds_mem_at(p), sizeof(v));
    return v;
}

MGDS_FN void mgds_store16(void *p, struct mgds_unit v)
{
    memcpy(mgds_mem_at(p), &v, sizeof(v));
}

MGDS_FN uint8_t mgds_load8(const void *p)
{
    return *(const uint8_t *)mgds_mem_at(p);
}

MGDS_FN void mgds_store8(void *p, uint8_t v)
{
    *(uint8_t *)mgds_mem_at(p) = v;
}

MGDS_FN void mgds_mem_pause(void)
{
    struct timespec t = {0, 20000};

    nanosleep(&t, NULL);
}

/* Kernels of a stream run one after the other here. */
MGDS_FN void mgds_grid_wait(void)
{
}

MGDS_FN void mgds_grid_ready(void)
{
}

#endif

#endif
