/* Commands of random contents for a device, by write and by ioctl, with random
 * memory behind them and random doorbells between them. Never a crash, and
 * always success or an errno that the kernel says, too.
 *
 *   fuzz_commands [ROUNDS [SEED]]
 *
 * Addresses that the device may write to are in one arena, between pages that
 * nobody may touch, or are no memory at all: what else the program has is not
 * for the device to destroy. So commands are never read from there, but from a
 * text that names no memory. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include "tests/hca/draw.h"
#include "tests/hca/front/fuzz_shapes.h"
#include "tests/lib/sanitized.h"

enum {
    ROUNDS = 60000,
    LIFE = 3000, /* commands of an opened device */
    TEXT = 1 << 16,
    GUARD = 1 << 16,
    ROOM = 512,
    COMMANDS = 64,
    ATTRIBUTES = 8,
    BAR_PAGES = 16,
    PAGE = 4096,
    BAR_BYTES = 0x600 * PAGE,
    LAST_FD = 512
};

static uint8_t *text;
static volatile uint64_t *bar;
static unsigned done[COMMANDS]; /* well, by number */
static unsigned refused, ready; /* QPs that came to RTS */

/* An address in the text, or nowhere. */
static const void *stray(void)
{
    uint64_t at =
        fuzz_one_in(4)
            ? UINT64_C(0xdead) << 48
            : (uintptr_t)text + UINT64_C(8) * draw_below(&fuzz_seed, TEXT / 8);

    return (const void *)(uintptr_t)at;
}

/* One command, in parts. */
struct parts {
    const struct fuzz_shape *shape;
    uint32_t command;
    _Alignas(8) uint8_t in[ROOM];
    _Alignas(8) uint8_t driver[ROOM];
    _Alignas(8) uint8_t out[2 * ROOM];
};

static void fail(const char *what, int value)
{
    printf("seed %llu: %s: %d\n", (unsigned long long)fuzz_seed, what, value);
    exit(1);
}

static void expect_errno(int error)
{
    static const int errors[] = {
        EINVAL, EFAULT, EOPNOTSUPP,   EBUSY,  ENOMEM, ENOSPC, EPROTONOSUPPORT,
        E2BIG,  EMFILE, EHOSTUNREACH, EACCES, ENODEV, EBADF};

    refused++;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i] == error)
            return;
    }
    fail("an errno that no device says", error);
}

static void count(const struct parts *parts)
{
    const struct ib_uverbs_modify_qp *modify = (const void *)parts->in;

    fuzz_keep_handle(parts->command, parts->out);
    done[parts->command % COMMANDS]++;
    ready += parts->command == IB_USER_VERBS_CMD_MODIFY_QP &&
             modify->qp_state == IBV_QPS_RTS;
}

static size_t put(uint8_t *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return bytes;
}

static uint64_t response_of(struct parts *parts)
{
    return fuzz_one_in(128) ? fuzz_address(8) : (uintptr_t)parts->out;
}

static size_t lay_extended(struct parts *parts, uint8_t *data)
{
    const struct fuzz_shape *shape = parts->shape;
    struct ib_uverbs_cmd_hdr header = {.command = parts->command,
                                       .in_words = (uint16_t)(shape->in / 8),
                                       .out_words = (uint16_t)(shape->out / 8)};
    struct ib_uverbs_ex_cmd_hdr more = {
        .response = response_of(parts),
        .provider_in_words = (uint16_t)(shape->driver_in / 8),
        .provider_out_words = (uint16_t)(shape->driver_out / 8)};
    size_t at = sizeof(header) + sizeof(more);

    if (fuzz_one_in(32))
        header.in_words = (uint16_t)fuzz_number();
    if (fuzz_one_in(32))
        more.provider_in_words = (uint16_t)fuzz_number();
    memcpy(data, &header, sizeof(header));
    memcpy(data + sizeof(header), &more, sizeof(more));
    at += put(data + at, parts->in, shape->in);
    return at + put(data + at, parts->driver, shape->driver_in);
}

static size_t lay_plain(struct parts *parts, uint8_t *data)
{
    const struct fuzz_shape *shape = parts->shape;
    size_t bytes =
        sizeof(struct ib_uverbs_cmd_hdr) + shape->in + shape->driver_in;
    struct ib_uverbs_cmd_hdr header = {
        .command = parts->command,
        .in_words = (uint16_t)(bytes / 4),
        .out_words = (uint16_t)((shape->out + shape->driver_out) / 4)};
    uint64_t response = response_of(parts);

    if (fuzz_one_in(32))
        header.in_words = (uint16_t)fuzz_number();
    if (fuzz_one_in(32))
        header.out_words =
            (uint16_t)draw_below(&fuzz_seed, header.out_words + 1u);
    if (shape->out > 0) /* it begins with the address of the response */
        memcpy(parts->in, &response, sizeof(response));
    memcpy(data, &header, sizeof(header));
    memcpy(data + sizeof(header), parts->in, shape->in);
    memcpy(data + sizeof(header) + shape->in, parts->driver, shape->driver_in);
    return fuzz_one_in(32) ? draw_below(&fuzz_seed, (uint32_t)bytes) : bytes;
}

static void run_write(int fd, struct parts *parts)
{
    _Alignas(8) uint8_t data[3 * ROOM];
    bool extended = parts->command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
    size_t bytes =
        extended ? lay_extended(parts, data) : lay_plain(parts, data);
    const void *from = data;
    ssize_t rc;

    if (fuzz_one_in(64))
        from = stray();
    rc = write(fd, from, bytes);
    if (rc == (ssize_t)bytes && from == data)
        count(parts);
    else if (rc < 0)
        expect_errno(errno);
    else if (rc != (ssize_t)bytes)
        fail("a part of a command was taken", (int)rc);
}

/* A call with its attributes. */
struct call {
    _Alignas(struct ib_uverbs_ioctl_hdr)
        uint8_t bytes[sizeof(struct ib_uverbs_ioctl_hdr) +
                      ATTRIBUTES * sizeof(struct ib_uverbs_attr)];
};

static struct ib_uverbs_ioctl_hdr *header_of(struct call *call)
{
    return (void *)call->bytes;
}

static struct call begin_call(uint16_t object, uint16_t method)
{
    struct call call = {.bytes = {0}};

    header_of(&call)->object_id = object;
    header_of(&call)->method_id = method;
    return call;
}

/* No address is cut in two: half of one may be memory of a sanitizer. */
static struct ib_uverbs_attr *add(struct call *call, uint16_t id, size_t bytes)
{
    struct ib_uverbs_attr *it =
        &header_of(call)->attrs[header_of(call)->num_attrs++];

    it->attr_id = id;
    it->len = (uint16_t)(fuzz_one_in(64) ? fuzz_number() & (ROOM - 8) : bytes);
    return it;
}

static void add_sent(struct call *call, uint16_t id, const void *at,
                     size_t bytes)
{
    struct ib_uverbs_attr *it = add(call, id, bytes);

    it->data = (uintptr_t)(fuzz_one_in(64) ? stray() : at);
    /* So few bytes are in the attribute, and no address of ours is. */
    if (it->len <= sizeof(it->data))
        it->data = 0;
    if (it->len <= sizeof(it->data) && bytes <= sizeof(it->data))
        memcpy(&it->data, at, bytes);
}

static void add_room(struct call *call, uint16_t id, void *at, size_t bytes)
{
    add(call, id, bytes)->data =
        fuzz_one_in(64) ? fuzz_address(8) : (uintptr_t)at;
}

static void scribble(struct call *call)
{
    if (fuzz_one_in(32))
        header_of(call)->method_id = (uint16_t)fuzz_number();
    if (fuzz_one_in(32))
        header_of(call)->object_id = (uint16_t)fuzz_number();
    if (fuzz_one_in(32))
        header_of(call)->num_attrs = (uint16_t)fuzz_number();
    if (fuzz_one_in(32))
        header_of(call)->attrs[0].data = fuzz_number();
    if (fuzz_one_in(32))
        header_of(call)->length = (uint16_t)fuzz_number();
}

static void run_call(int fd, struct call *call, const struct parts *parts)
{
    const void *at = call;

    header_of(call)->length =
        (uint16_t)(sizeof(struct ib_uverbs_ioctl_hdr) +
                   header_of(call)->num_attrs * sizeof(struct ib_uverbs_attr));
    scribble(call);
    if (fuzz_one_in(64))
        at = stray();
    if (ioctl(fd, RDMA_VERBS_IOCTL, at) < 0)
        expect_errno(errno);
    else if (at == call && parts)
        count(parts);
}

static void run_invoke(int fd, struct parts *parts)
{
    const struct fuzz_shape *shape = parts->shape;
    uint64_t command = parts->command;
    struct call call =
        begin_call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);

    add_sent(&call, UVERBS_ATTR_WRITE_CMD, &command, sizeof(command));
    add_sent(&call, UVERBS_ATTR_CORE_IN, parts->in, shape->in);
    if (shape->out)
        add_room(&call, UVERBS_ATTR_CORE_OUT, parts->out, shape->out);
    if (shape->driver_in)
        add_sent(&call, UVERBS_ATTR_UHW_IN, parts->driver, shape->driver_in);
    if (shape->driver_out)
        add_room(&call, UVERBS_ATTR_UHW_OUT, parts->out + ROOM,
                 shape->driver_out);
    run_call(fd, &call, parts);
}

/* The place for keys of a region and numbers of a page, whatever room is said
 * to be there. */
static uint32_t keys[ROOM];

/* A page, or the end of one. */
static void run_page(int fd)
{
    bool ends = fuzz_one_in(4);
    struct call call =
        begin_call(MLX5_IB_OBJECT_UAR, ends ? MLX5_IB_METHOD_UAR_OBJ_DESTROY
                                            : MLX5_IB_METHOD_UAR_OBJ_ALLOC);
    uint64_t page = fuzz_page(), type = draw_below(&fuzz_seed, 3);

    if (ends) {
        add_sent(&call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, &page,
                 sizeof(page));
        run_call(fd, &call, NULL);
        return;
    }
    add_room(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, NULL, sizeof(uint32_t));
    add_sent(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type));
    add_room(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, keys,
             sizeof(uint64_t));
    add_room(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, keys + 2,
             sizeof(uint32_t));
    add_room(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, keys + 3,
             sizeof(uint32_t));
    run_call(fd, &call, NULL);
    if (keys[3] < BAR_BYTES / PAGE)
        fuzz_last_page = keys[3];
}

/* Any method, with attributes of any kind: numbers, or room and what was sent
 * in the arena. */
static void run_any(int fd)
{
    static const uint16_t methods[][2] = {
        {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE},
        {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY},
        {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE},
        {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY},
        {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT},
        {UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC},
        {UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY},
        {UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR},
    };
    const uint16_t *method =
        methods[draw_below(&fuzz_seed, sizeof(methods) / sizeof(methods[0]))];
    struct call call = begin_call(method[0], method[1]);
    struct ib_uverbs_attr *it;

    while (header_of(&call)->num_attrs < ATTRIBUTES && !fuzz_one_in(8)) {
        it = add(&call, (uint16_t)draw_below(&fuzz_seed, 16),
                 fuzz_one_in(2) ? sizeof(uint64_t) : ROOM);
        if (fuzz_one_in(4))
            it->attr_id |= 1u << UVERBS_ID_NS_SHIFT;
        it->data = it->len > sizeof(it->data) || fuzz_one_in(2)
                       ? fuzz_address(8)
                       : fuzz_number();
    }
    run_call(fd, &call, NULL);
}

/* A region of a descriptor's memory: of none, of ours, of the device. */
static void run_dmabuf(int fd)
{
    struct call call =
        begin_call(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
    uint64_t offset = fuzz_number(), bytes = fuzz_number(),
             iova = draw(&fuzz_seed);
    uint32_t access = draw_below(&fuzz_seed, 16), pd = fuzz_number();
    uint32_t from = draw_below(&fuzz_seed, LAST_FD);

    add_room(&call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, NULL, sizeof(uint32_t));
    add_sent(&call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, &pd, sizeof(pd));
    add_sent(&call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &offset, sizeof(offset));
    add_sent(&call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &bytes, sizeof(bytes));
    add_sent(&call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova));
    add_sent(&call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access,
             sizeof(access));
    add_sent(&call, UVERBS_ATTR_REG_DMABUF_MR_FD, &from, sizeof(from));
    add_room(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, keys,
             sizeof(uint32_t));
    run_call(fd, &call, NULL);
}

/* Random records, WQEs and words of registers. */
static void make_noise(void)
{
    uint32_t at = draw_below(&fuzz_seed, FUZZ_ARENA / 64) * 64;
    static const unsigned offsets[] = {0x20, 0x800, 0x900, 0xa00, 0xb00};
    unsigned page =
        fuzz_one_in(2) ? fuzz_last_page : draw_below(&fuzz_seed, BAR_PAGES);

    for (unsigned i = 0; i < 64; i++)
        fuzz_arena[at + i] = (uint8_t)(fuzz_one_in(2) ? draw(&fuzz_seed) : 0);
    bar[(page * PAGE + offsets[draw_below(&fuzz_seed, 5)]) / sizeof(*bar)] =
        draw(&fuzz_seed) & UINT64_C(0x0f4f0000ffff0f0f);
}

static void run_one(int fd)
{
    struct parts parts = {.shape = &fuzz_shapes[0]};

    if (fuzz_one_in(4))
        make_noise();
    if (fuzz_one_in(32)) {
        run_dmabuf(fd);
        return;
    }
    if (fuzz_one_in(32)) {
        run_page(fd);
        return;
    }
    if (fuzz_one_in(16)) {
        run_any(fd);
        return;
    }
    parts.shape =
        &fuzz_shapes[draw_below(&fuzz_seed, (uint32_t)fuzz_shape_count)];
    parts.command = fuzz_one_in(64) ? fuzz_number() : parts.shape->command;
    parts.shape->fill(parts.in, parts.driver);
    if (fuzz_one_in(2))
        run_write(fd, &parts);
    else
        run_invoke(fd, &parts);
}

static int open_device(void)
{
    struct parts parts = {.shape = &fuzz_shapes[0],
                          .command = fuzz_shapes[0].command};
    int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
    void *pages;

    if (fd < 0)
        fail("open", errno);
    pages = mmap(NULL, BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (pages == MAP_FAILED)
        fail("mmap", errno);
    bar = pages;
    parts.shape->fill(parts.in, parts.driver);
    if (!fuzz_one_in(32))
        run_write(fd, &parts);
    return fd;
}

/* Channels, and what else the device made: all goes but what was there. */
static void close_device(int fd)
{
    munmap((void *)(uintptr_t)bar, BAR_BYTES);
    close(fd);
    for (int other = fd + 1; other < LAST_FD; other++) {
        if (fcntl(other, F_GETFD) >= 0)
            close(other);
    }
}

static uint8_t *map_between(size_t bytes)
{
    uint8_t *at = mmap(NULL, bytes + (size_t)2 * GUARD, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED ||
        mprotect(at + GUARD, bytes, PROT_READ | PROT_WRITE) < 0)
        fail("memory", errno);
    return at + GUARD;
}

/* Words of the text are 0, or what is no address. */
static void make_memory(void)
{
    uint64_t word;

    fuzz_arena = map_between(FUZZ_ARENA);
    text = map_between(TEXT);
    for (size_t i = 0; i < TEXT; i += sizeof(word)) {
        word = i / 256 % 2 ? UINT64_C(0xdead) << 48 | draw(&fuzz_seed) : 0;
        memcpy(text + i, &word, sizeof(word));
    }
}

/* A fuzzer that is refused everything would be none. */
static void expect_depth(unsigned rounds)
{
    static const unsigned commands[] = {
        IB_USER_VERBS_CMD_ALLOC_PD,   IB_USER_VERBS_CMD_REG_MR,
        IB_USER_VERBS_CMD_CREATE_CQ,  IB_USER_VERBS_CMD_CREATE_QP,
        IB_USER_VERBS_CMD_CREATE_SRQ, IB_USER_VERBS_CMD_DESTROY_CQ,
        IB_USER_VERBS_CMD_DESTROY_QP, IB_USER_VERBS_CMD_QUERY_QP,
        IB_USER_VERBS_CMD_ALLOC_MW,   IB_USER_VERBS_CMD_DEALLOC_MW};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (done[commands[i]] < rounds / 2000)
            fail("hardly ever done: command", (int)commands[i]);
    }
    /* One round in 1000 makes one ready: a fifth of that is no chance. */
    if (ready < rounds / 5000)
        fail("hardly ever in RTS", (int)ready);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10)
                               : mgds_test_laps(ROUNDS);
    int fd = -1;

    fuzz_seed = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 1;
    make_memory();
    for (unsigned i = 0; i < rounds; i++) {
        if (i % LIFE == 0 && fd >= 0)
            close_device(fd);
        if (i % LIFE == 0)
            fd = open_device();
        run_one(fd);
    }
    close_device(fd);
    expect_depth(rounds);
    printf("refused %u of %u, QPs made %u, ready %u\n", refused, rounds,
           done[IB_USER_VERBS_CMD_CREATE_QP], ready);
    return 0;
}
