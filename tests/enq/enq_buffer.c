/* Buffers with guards, and what stands for kernels. */
#include "tests/enq/enq.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 256 };

const size_t *enq_sizes(void)
{
    static const size_t usual[] = {0,     1,      8,         511,        4096,
                                   65539, 262144, ENQ_LARGE, ENQ_NO_SIZE};
    static const size_t full[] = {
        0,          1,      8,         511,           4096,
        65539,      262144, ENQ_LARGE, (8 << 20) + 5, (size_t)64 << 20,
        ENQ_NO_SIZE};

    return enq.full ? full : usual;
}

/* Patterns are made in memory that no other thread knows, and would be most of
 * a test's time under ThreadSanitizer. */
#define PRIVATE_MEMORY __attribute__((no_sanitize("thread")))

/* Eight bytes of a message: neighbours, messages and shifts all differ. */
PRIVATE_MEMORY
static uint64_t word_of(unsigned message, size_t i)
{
    uint64_t x = ((uint64_t)message << 40) + i + 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

unsigned char enq_byte(unsigned message, size_t i)
{
    return (unsigned char)(word_of(message, i / 8) >> (i % 8 * 8));
}

PRIVATE_MEMORY
static void pattern(uint64_t *to, size_t bytes, unsigned message)
{
    size_t words = bytes / sizeof(*to);
    uint64_t last = word_of(message, words);

    for (size_t i = 0; i < words; i++)
        to[i] = word_of(message, i);
    memcpy(to + words, &last, bytes % sizeof(*to));
}

static size_t whole(const struct enq_buffer *b)
{
    return b->bytes + 2 * (size_t)GUARD;
}

/* Guards untouched, the data a message. */
static unsigned char *image_of(const struct enq_buffer *b, size_t bytes,
                               unsigned message)
{
    uint64_t *image = malloc(whole(b));

    CHECK(image);
    pattern(image, whole(b), 0);
    if (message)
        pattern(image + GUARD / sizeof(*image), bytes, message);
    return (unsigned char *)image;
}

static void put(struct enq_buffer *b, unsigned message)
{
    unsigned char *image = image_of(b, b->bytes, message);

    mgds_test_memory_write(&b->memory, image, whole(b));
    free(image);
}

static void open_alone(struct enq_buffer *b, size_t bytes,
                       enum mgds_test_kind kind)
{
    b->bytes = bytes;
    CHECK(mgds_test_memory_alloc(&b->memory, kind, whole(b)) == 0);
    b->at = b->memory.at + GUARD;
    put(b, 0);
}

void enq_buffer_open_alone(struct enq_buffer *b, size_t bytes)
{
    open_alone(b, bytes, MGDS_TEST_DEVICE);
}

void enq_buffer_open(struct enq_buffer *b, size_t bytes)
{
    b->bytes = bytes;
    b->memory = (struct mgds_test_memory){.kind = MGDS_TEST_DEVICE,
                                          .at = enq_arena_give(whole(b)),
                                          .bytes = whole(b)};
    if (!b->memory.at) {
        enq_buffer_open_alone(b, bytes);
        return;
    }
    b->at = b->memory.at + GUARD;
    put(b, 0);
}

void enq_buffer_open_kind(struct enq_buffer *b, size_t bytes,
                          enum mgds_test_kind kind)
{
    if (kind == MGDS_TEST_DEVICE)
        enq_buffer_open(b, bytes);
    else
        open_alone(b, bytes, kind);
}

void enq_buffer_open_other(struct enq_buffer *b, size_t bytes)
{
    CUcontext own;

    MGDS_CU(cuCtxGetCurrent(&own));
    MGDS_CU(cuCtxSetCurrent(enq_other_context()));
    enq_buffer_open_alone(b, bytes);
    MGDS_CU(cuCtxSetCurrent(own));
}

void enq_buffer_close(struct enq_buffer *b)
{
    if (!enq_arena_take(b->memory.at))
        mgds_test_memory_free(&b->memory);
}

void enq_wipe(struct enq_buffer *b)
{
    put(b, 0);
}

void enq_fill(struct enq_buffer *b, unsigned message)
{
    CHECK(message > 0);
    put(b, message);
}

static void complain(const struct enq_buffer *b, const unsigned char *got,
                     const unsigned char *want, unsigned message)
{
    size_t i = 0;

    while (got[i] == want[i])
        i++;
    fprintf(stderr,
            "rank %d: %s memory, message %u, %zu bytes: byte %zd is 0x%02x, "
            "should be 0x%02x\n",
            enq.rank, mgds_test_kind_name(b->memory.kind), message, b->bytes,
            (ssize_t)i - GUARD, got[i], want[i]);
}

void enq_expect(const struct enq_buffer *b, size_t bytes, unsigned message)
{
    unsigned char *want = image_of(b, bytes, message);
    unsigned char *got = malloc(whole(b));
    bool same;

    CHECK(got);
    CHECK(bytes <= b->bytes);
    mgds_test_memory_read(&b->memory, got, whole(b));
    same = memcmp(got, want, whole(b)) == 0;
    if (!same)
        complain(b, got, want, message);
    CHECK(same);
    free(got);
    free(want);
}

void enq_read(const struct enq_buffer *b, void *to, size_t bytes)
{
    struct mgds_test_memory data = b->memory;

    CHECK(bytes <= b->bytes);
    data.at = b->at;
    mgds_test_memory_read(&data, to, bytes);
}

static CUdeviceptr device_of(const struct enq_buffer *b)
{
    return (CUdeviceptr)(uintptr_t)b->at;
}

void enq_kernel_set(CUstream cu, struct enq_buffer *b, unsigned char value)
{
    if (b->bytes > 0)
        MGDS_CU(cuMemsetD8Async(device_of(b), value, b->bytes, cu));
}

void enq_kernel_copy(CUstream cu, struct enq_buffer *to,
                     const struct enq_buffer *from)
{
    CHECK(to->bytes == from->bytes);
    if (to->bytes > 0)
        MGDS_CU(cuMemcpyAsync(device_of(to), device_of(from), to->bytes, cu));
}
