/* The program's side: WQEs, doorbells and CQEs as bytes. */
#include <string.h>

#include "tests/hca/place.h"

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | at[3];
}

static void put32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (24 - 8 * i));
}

void wqe_be32(struct wqe *wqe, uint32_t v)
{
    put32(wqe->at + wqe->bytes, v);
    wqe->bytes += 4;
}

void wqe_be64(struct wqe *wqe, uint64_t v)
{
    wqe_be32(wqe, (uint32_t)(v >> 32));
    wqe_be32(wqe, (uint32_t)v);
}

static const struct end *peer_of(const struct end *end)
{
    return end == &end->place->a ? &end->place->b : &end->place->a;
}

static bool goes_out(uint8_t opcode)
{
    return opcode != 0x00 && opcode != 0x23 && opcode != 0x25;
}

static struct wqe ctrl_alone(const struct end *end, uint8_t opcode,
                             uint8_t fm_ce_se)
{
    struct wqe wqe = {.bytes = 0};

    wqe_be32(&wqe, (uint32_t)end->pi << 8 | opcode);
    wqe_be32(&wqe, end->number << 8);
    wqe_be32(&wqe, fm_ce_se);
    wqe_be32(&wqe, 0);
    return wqe;
}

struct wqe wqe_ctrl(const struct end *end, uint8_t opcode, uint8_t fm_ce_se)
{
    const struct end *peer = peer_of(end);
    struct wqe wqe = ctrl_alone(end, opcode, fm_ce_se);

    if (end->qp->attr.service == MGDS_SERVICE_DCI && goes_out(opcode))
        wqe_dc_av(&wqe, peer, peer->dct->number, PLACE_DC_KEY);
    return wqe;
}

struct wqe wqe_dc_ctrl(const struct end *end, uint8_t opcode,
                       const struct end *to, uint32_t dct)
{
    struct wqe wqe = ctrl_alone(end, opcode, SIGNALLED);

    wqe_dc_av(&wqe, to, dct, PLACE_DC_KEY);
    return wqe;
}

void wqe_raddr(struct wqe *wqe, uint64_t address, uint32_t rkey)
{
    wqe_be64(wqe, address);
    wqe_be32(wqe, rkey);
    wqe_be32(wqe, 0);
}

void wqe_data(struct wqe *wqe, uint32_t bytes, uint32_t lkey, uint64_t address)
{
    wqe_be32(wqe, bytes);
    wqe_be32(wqe, lkey);
    wqe_be64(wqe, address);
}

/* The place of an end's device, as an address vector without its key. */
static void put_av(uint8_t *at, const struct end *to, uint32_t qpn, bool global)
{
    struct mgds_hca_gid gid = place_gid(to);

    memset(at, 0, 48);
    put32(at + 8, 0x80000000u | qpn);
    at[12] = 3; /* SL */
    at[14] = (uint8_t)(mgds_hca_port_lid(to->port) >> 8);
    at[15] = (uint8_t)mgds_hca_port_lid(to->port);
    if (!global)
        return;
    at[26] = 0xab;
    at[27] = 7;
    put32(at + 28, 1u << 30 | 0x12345);
    memcpy(at + 32, gid.raw, sizeof(gid.raw));
}

void wqe_av(struct wqe *wqe, const struct end *to, uint32_t qkey, bool global)
{
    put_av(wqe->at + wqe->bytes, to, to->number, global);
    put32(wqe->at + wqe->bytes, qkey);
    wqe->bytes += 48;
}

void wqe_dc_av(struct wqe *wqe, const struct end *to, uint32_t dct,
               uint64_t key)
{
    const struct options *options = &to->place->options;
    uint8_t *at = wqe->at + wqe->bytes;

    memset(at, 0, 48);
    put32(at + 8, 0x80000000u | dct);
    if (to->port)
        put_av(at, to, dct, options->gids);
    if (options->half)
        at[8] = 0;
    put32(at, (uint32_t)(key >> 32));
    put32(at + 4, (uint32_t)key);
    wqe->bytes += options->half ? 16 : 48;
}

void wqe_inline(struct wqe *wqe, const void *data, uint32_t bytes)
{
    wqe_be32(wqe, 0x80000000u | bytes);
    memcpy(wqe->at + wqe->bytes, data, bytes);
    wqe->bytes = (wqe->bytes + bytes + 15) / 16 * 16;
}

void wqe_atomic(struct wqe *wqe, uint64_t operand, uint64_t compare)
{
    wqe_be64(wqe, operand);
    wqe_be64(wqe, compare);
}

/* Access flags of verbs (1, 2, 4, 8) as bits of a key. */
static uint8_t key_bits(uint8_t access)
{
    return (uint8_t)((access & 1 ? 8 : 0) | (access & 2 ? 0x20 : 0) |
                     (access & 4 ? 0x10 : 0) | (access & 8 ? 0x40 : 0));
}

struct wqe wqe_bind(const struct end *end, const struct binding *it)
{
    struct wqe wqe = wqe_ctrl(end, 0x25, SIGNALLED);
    bool second = it->type == 2, binds = it->bytes > 0;
    uint32_t mask = 1u << 29 | 1u << 13;

    put32(wqe.at + 12, it->key);
    if (second)
        mask |= 1u << 14;
    if (binds)
        mask |= 1u << 0 | 1u << 6 | 15u << 18;
    memset(wqe.at + 16, 0, sizeof(wqe.at) - 16);
    wqe.at[16] = (uint8_t)(0x90 | (second && binds ? 0x20 : 0) |
                           (second && !binds) << 3);
    wqe.at[16 + 5] = binds ? 4 : 0;
    put32(wqe.at + 16 + 12, mask);
    wqe.at[64] = binds ? 0 : 0x40;
    wqe.at[64 + 2] = key_bits(it->access);
    put32(wqe.at + 64 + 4,
          (second && binds ? end->number << 8 : 0xffffff00u) | it->variant);
    wqe.bytes = 128;
    if (!binds)
        return wqe;
    wqe.bytes = 64 + 16;
    wqe_be64(&wqe, place_address(end, it->offset));
    wqe_be64(&wqe, it->bytes);
    wqe.bytes = 128;
    wqe_data(&wqe, it->bytes, it->region, place_address(end, it->offset));
    wqe.bytes = 192;
    return wqe;
}

static struct wqe one_sided(const struct end *end, uint8_t opcode,
                            size_t offset, uint32_t bytes)
{
    const struct end *peer = peer_of(end);
    struct wqe wqe = wqe_ctrl(end, opcode, SIGNALLED);

    wqe_raddr(&wqe, place_address(peer, offset), peer->key);
    wqe_data(&wqe, bytes, end->key, place_address(end, offset));
    return wqe;
}

struct wqe wqe_write(const struct end *end, size_t offset, uint32_t bytes)
{
    return one_sided(end, 0x08, offset, bytes);
}

struct wqe wqe_read(const struct end *end, size_t offset, uint32_t bytes)
{
    return one_sided(end, 0x10, offset, bytes);
}

struct wqe wqe_send(const struct end *end, size_t offset, uint32_t bytes)
{
    struct wqe wqe = wqe_ctrl(end, 0x0a, SIGNALLED);

    wqe_data(&wqe, bytes, end->key, place_address(end, offset));
    return wqe;
}

void post_bytes(struct end *end, const uint8_t *bytes, size_t count)
{
    size_t ring = (size_t)end->place->options.blocks * 64;

    memcpy(end->last, bytes, sizeof(end->last));
    for (size_t i = 0; i < count; i++)
        end->send[((size_t)end->pi * 64 + i) % ring] = bytes[i];
    end->pi = (uint16_t)(end->pi + (count + 63) / 64);
}

void post(struct end *end, struct wqe *wqe)
{
    if (wqe->at[7] == 0)
        wqe->at[7] = (uint8_t)(wqe->bytes / 16);
    post_bytes(end, wqe->at, wqe->bytes);
}

void set_record(struct end *end, unsigned word, uint32_t value)
{
    uint8_t bytes[4];
    uint32_t raw;

    put32(bytes, value);
    memcpy(&raw, bytes, sizeof(raw));
    __atomic_store_n(&end->record[word].raw, raw, __ATOMIC_RELEASE);
}

void ring_register(struct end *end, size_t offset, const uint8_t word[8])
{
    uint64_t raw;

    memcpy(&raw, word, sizeof(raw));
    __atomic_store_n((uint64_t *)(void *)(end->page + offset), raw,
                     __ATOMIC_RELEASE);
}

void ring(struct end *end)
{
    set_record(end, 1, end->pi);
    ring_register(end, 0x800, end->last);
}

void run_one(struct end *end, struct wqe *wqe)
{
    post(end, wqe);
    ring(end);
    place_run(end->place);
}

void post_receive_bytes(struct end *end, const uint8_t *bytes, size_t count)
{
    size_t stride = end->place->options.stride, next = 0;

    if (end->srq) {
        stride *= 2;
        next = 16; /* the link of a slot, which is there */
    }
    memcpy(end->receive + end->posts % PLACE_RECEIVES * stride + next, bytes,
           count);
    end->posts++;
    set_record(end, 0, end->posts);
}

void post_receive(struct end *end, size_t offset, uint32_t bytes)
{
    struct wqe wqe = {.bytes = 0};

    wqe_data(&wqe, bytes, end->key, place_address(end, offset));
    wqe_data(&wqe, 0, 0x100, 0);
    post_receive_bytes(end, wqe.at, wqe.bytes);
}

static uint8_t *entry(const struct queue *queue)
{
    uint32_t index = queue->consumed % queue->options.entries;

    if (queue->options.collapsed)
        index = 0;
    return queue->buffer + (size_t)index * queue->options.entry_bytes +
           queue->options.entry_bytes - 64;
}

static struct cqe parse(const uint8_t *at)
{
    uint8_t opcode = at[63] >> 4;
    bool failed = opcode == 13 || opcode == 14;

    return (struct cqe){
        .opcode = opcode,
        .solicited = at[63] & 2,
        .syndrome = failed ? at[55] : 0,
        .vendor = failed ? at[54] : 0,
        .wqe_opcode = at[56],
        .counter = (uint16_t)(get32(at + 60) >> 16),
        .qpn = get32(at + 56) & 0xffffff,
        .user_index = get32(at + 32),
        .bytes = get32(at + 44),
        .imm = get32(at + 36),
        .peer = get32(at + 24),
        .lid = (uint16_t)get32(at + 20),
    };
}

static bool is_ours(const struct queue *queue, uint8_t op_own)
{
    bool lap = queue->consumed & queue->options.entries;

    return op_own >> 4 != 15 && (op_own & 1) == lap;
}

bool take_cqe(struct queue *queue, struct cqe *cqe)
{
    const uint8_t *at = entry(queue);
    uint8_t consumed[4];
    uint32_t raw;

    raw = __atomic_load_n((const uint32_t *)(const void *)(at + 60),
                          __ATOMIC_ACQUIRE);
    if (!is_ours(queue, (uint8_t)(raw >> 24)))
        return false;
    *cqe = parse(at);
    queue->consumed++;
    put32(consumed, queue->consumed & 0xffffff);
    memcpy(&raw, consumed, sizeof(raw));
    __atomic_store_n(&queue->record[0].raw, raw, __ATOMIC_RELEASE);
    return true;
}

struct cqe expect_cqe(struct queue *queue, uint8_t opcode, uint16_t counter)
{
    struct cqe cqe = {.opcode = 0};

    assert_true(take_cqe(queue, &cqe));
    assert_int_equal(cqe.opcode, opcode);
    assert_int_equal(cqe.counter, counter);
    assert_int_equal(cqe.user_index, PLACE_UIDX);
    return cqe;
}

struct cqe expect_error(struct queue *queue, uint8_t syndrome, uint16_t counter)
{
    struct cqe cqe = {.opcode = 0};

    assert_true(take_cqe(queue, &cqe));
    assert_true(cqe.opcode == 13 || cqe.opcode == 14);
    assert_int_equal(cqe.syndrome, syndrome);
    assert_int_equal(cqe.counter, counter);
    return cqe;
}

void expect_none(struct queue *queue)
{
    struct cqe cqe;

    assert_false(take_cqe(queue, &cqe));
}
