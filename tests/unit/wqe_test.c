/* Golden bytes: what the builders of device/impl/wqe.h write, and what
 * device/impl/cqe.h makes of the bytes of an HCA, written out by hand from the
 * tables of the formats. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/impl/cqe.h"
#include "device/impl/wqe.h"

static const struct mgds_wqe_path rc = {.qpn = 0x000123};
static const struct mgds_wqe_remote remote = {
    .address = UINT64_C(0x1122334455667788), .rkey = 0xa1b2c3d4};
static const struct mgds_wqe_local local = {
    .address = UINT64_C(0x00007f0012345678), .bytes = 4096, .lkey = 0x0badcafe};

#define RADDR                                                                  \
    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xa1, 0xb2, 0xc3, 0xd4, 0, \
        0, 0, 0
#define DATA_OF(high, low)                                                     \
    0, 0, high, low, 0x0b, 0xad, 0xca, 0xfe, 0, 0, 0x7f, 0, 0x12, 0x34, 0x56,  \
        0x78

/* The WQE, at the index 0xbeef. */
static void assert_bytes(struct mgds_wqe wqe, const uint8_t *bytes,
                         size_t count)
{
    mgds_wqe_stamp(&wqe.ctrl, 0xbeef);
    assert_int_equal(wqe.bytes, count);
    assert_memory_equal(wqe.at, bytes, count);
}

#define ASSERT_BYTES(wqe, ...)                                                 \
    do {                                                                       \
        static const uint8_t golden[] = {__VA_ARGS__};                         \
        assert_bytes(wqe, golden, sizeof(golden));                             \
    } while (0)

static void writes_are(void **state)
{
    static const uint8_t payload[] = {1, 2, 3,  4,  5,  6, 7,
                                      8, 9, 10, 11, 12, 13};
    struct mgds_wqe_local nothing = {.bytes = 0};

    (void)state;
    ASSERT_BYTES(mgds_wqe_write(rc, MGDS_WQE_CE_ALWAYS, remote, local), 0, 0xbe,
                 0xef, 0x08, 0, 0x01, 0x23, 3, 0, 0, 0, 0x08, 0, 0, 0, 0, RADDR,
                 DATA_OF(0x10, 0));
    ASSERT_BYTES(mgds_wqe_write(rc, 0, remote, nothing), 0, 0xbe, 0xef, 0x08, 0,
                 0x01, 0x23, 2, 0, 0, 0, 0, 0, 0, 0, 0, RADDR);
    ASSERT_BYTES(mgds_wqe_write_imm(rc, MGDS_WQE_CE_ALWAYS | MGDS_WQE_SOLICITED,
                                    remote, local, 0x44332211),
                 0, 0xbe, 0xef, 0x09, 0, 0x01, 0x23, 3, 0, 0, 0, 0x0a, 0x11,
                 0x22, 0x33, 0x44, RADDR, DATA_OF(0x10, 0));
    ASSERT_BYTES(mgds_wqe_write_inline(rc, 0, remote, payload, 12), 0, 0xbe,
                 0xef, 0x08, 0, 0x01, 0x23, 3, 0, 0, 0, 0, 0, 0, 0, 0, RADDR,
                 0x80, 0, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    ASSERT_BYTES(mgds_wqe_write_inline(rc, 0, remote, payload, 13), 0, 0xbe,
                 0xef, 0x08, 0, 0x01, 0x23, 4, 0, 0, 0, 0, 0, 0, 0, 0, RADDR,
                 0x80, 0, 0, 13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0,
                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void reads_atomics_and_sends_are(void **state)
{
    const struct mgds_wqe_swap swap = {.compare = 7, .swap = 0x0102};
    struct mgds_wqe_local old = local;

    (void)state;
    old.bytes = 8;
    ASSERT_BYTES(mgds_wqe_read(rc, 0, remote, local), 0, 0xbe, 0xef, 0x10, 0,
                 0x01, 0x23, 3, 0, 0, 0, 0, 0, 0, 0, 0, RADDR,
                 DATA_OF(0x10, 0));
    ASSERT_BYTES(mgds_wqe_fetch_add(rc, MGDS_WQE_FENCE | MGDS_WQE_CE_ALWAYS,
                                    remote, 0x0102, old),
                 0, 0xbe, 0xef, 0x12, 0, 0x01, 0x23, 4, 0, 0, 0, 0x48, 0, 0, 0,
                 0, RADDR, 0, 0, 0, 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0, 0, 0, 0,
                 DATA_OF(0, 8));
    ASSERT_BYTES(mgds_wqe_compare_swap(rc, 0, remote, swap, old), 0, 0xbe, 0xef,
                 0x11, 0, 0x01, 0x23, 4, 0, 0, 0, 0, 0, 0, 0, 0, RADDR, 0, 0, 0,
                 0, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0, 0, 0, 7, DATA_OF(0, 8));
    ASSERT_BYTES(mgds_wqe_send(rc, 0, local), 0, 0xbe, 0xef, 0x0a, 0, 0x01,
                 0x23, 2, 0, 0, 0, 0, 0, 0, 0, 0, DATA_OF(0x10, 0));
    ASSERT_BYTES(mgds_wqe_nop(0xfedcba, MGDS_WQE_CE_ALWAYS), 0, 0xbe, 0xef, 0,
                 0xfe, 0xdc, 0xba, 1, 0, 0, 0, 0x08, 0, 0, 0, 0);
}

static struct mgds_wqe_av av_of(uint32_t qpn)
{
    struct mgds_wqe_av av = {.qpn = mgds_to_be32(qpn),
                             .rate_sl = 3,
                             .lid = mgds_to_be16(0x0205),
                             .gid = {0xfe, 0x80}};

    av.key.dc_key = mgds_to_be64(UINT64_C(0x0807060504030201));
    return av;
}

/* A half address vector is one unit, a full one is three. */
static void a_dci_names_whom_it_calls(void **state)
{
    struct mgds_wqe_av half = av_of(0x42), full = av_of(MGDS_AV_FULL | 0x42);
    const struct mgds_wqe_path to_half = {.qpn = 0x123, .av = &half};
    const struct mgds_wqe_path to_full = {.qpn = 0x123, .av = &full};
    static const uint8_t payload[MGDS_WQE_INLINE_DC];

    (void)state;
    ASSERT_BYTES(mgds_wqe_write(to_half, 0, remote, local), 0, 0xbe, 0xef, 0x08,
                 0, 0x01, 0x23, 4, 0, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2,
                 1, 0, 0, 0, 0x42, 3, 0, 2, 5, RADDR, DATA_OF(0x10, 0));
    ASSERT_BYTES(mgds_wqe_write(to_full, 0, remote, local), 0, 0xbe, 0xef, 0x08,
                 0, 0x01, 0x23, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2,
                 1, 0x80, 0, 0, 0x42, 3, 0, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                 0, 0, 0, 0, 0, 0, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                 0, 0, 0, RADDR, DATA_OF(0x10, 0));
    assert_int_equal(
        mgds_wqe_write_inline(to_full, 0, remote, payload, sizeof(payload))
            .bytes,
        MGDS_WQE_MOST_BYTES);
}

static void blocks_are_counted(void **state)
{
    struct mgds_wqe_av full = av_of(MGDS_AV_FULL | 0x42);
    const struct mgds_wqe_path dc = {.qpn = 0x123, .av = &full};
    static const uint8_t payload[MGDS_WQE_INLINE_RC];
    struct mgds_wqe wqe = mgds_wqe_nop(1, 0);

    (void)state;
    assert_int_equal(mgds_wqe_blocks(&wqe), 1);
    wqe = mgds_wqe_write_inline(rc, 0, remote, payload, sizeof(payload));
    assert_int_equal(mgds_wqe_blocks(&wqe), 1);
    wqe = mgds_wqe_send(dc, 0, local);
    assert_int_equal(mgds_wqe_blocks(&wqe), 2);
}

/* A template is used again and again; nothing but its index changes. */
static void stamps_replace_each_other(void **state)
{
    struct mgds_wqe wqe = mgds_wqe_write(rc, 0, remote, local);
    struct mgds_wqe again = wqe;

    (void)state;
    wqe.ctrl.opmod_idx_opcode.raw |= 9; /* an opmod, in the first byte */
    again.ctrl.opmod_idx_opcode.raw |= 9;
    mgds_wqe_stamp(&wqe.ctrl, 0xffff);
    mgds_wqe_stamp(&wqe.ctrl, 0x0102);
    mgds_wqe_stamp(&again.ctrl, 0x0102);
    assert_memory_equal(wqe.at, again.at, wqe.bytes);
    assert_int_equal(wqe.at[0], 9);
    assert_int_equal(wqe.at[1], 1);
    assert_int_equal(wqe.at[2], 2);
    assert_int_equal(wqe.at[3], MGDS_WQE_RDMA_WRITE);
}

static void doorbells_and_records_are(void **state)
{
    static const uint8_t bell[] = {0, 0x01, 0x02, 0, 0xfe, 0xdc, 0xba, 0};
    static const uint8_t record[] = {0, 0, 0x01, 0x02};
    uint64_t word = mgds_doorbell_of(0xfedcba, 0x30102);
    uint32_t count = mgds_dbrec_of(0x30102);

    (void)state;
    assert_memory_equal(&word, bell, sizeof(bell));
    assert_memory_equal(&count, record, sizeof(record));
}

enum { ENTRIES = 8 };

/* The last dword of a CQE whose WQE began at block 0x0102. */
static uint32_t last_dword(unsigned opcode, unsigned owner)
{
    const uint8_t bytes[] = {0x01, 0x02, 0xee, (uint8_t)(opcode << 4 | owner)};
    uint32_t last;

    memcpy(&last, bytes, sizeof(last));
    return last;
}

static void an_entry_is_there_in_its_lap(void **state)
{
    (void)state;
    for (uint32_t consumed = 0; consumed < 4 * ENTRIES; consumed++) {
        unsigned owner = consumed / ENTRIES % 2;

        assert_int_equal(mgds_cqe_judge(last_dword(MGDS_CQE_REQUEST, owner),
                                        consumed, ENTRIES),
                         MGDS_CQE_DONE);
        assert_int_equal(mgds_cqe_judge(last_dword(MGDS_CQE_REQUEST, !owner),
                                        consumed, ENTRIES),
                         MGDS_CQE_NOT_YET);
        assert_int_equal(mgds_cqe_judge(last_dword(MGDS_CQE_INVALID, owner),
                                        consumed, ENTRIES),
                         MGDS_CQE_NOT_YET);
    }
}

/* Of all opcodes in the lap of the reader: five are successes, one is nothing
 * yet, and whatever else there may be is an error. */
static void what_is_no_success_is_an_error(void **state)
{
    unsigned count[MGDS_CQE_FAILED + 1] = {0};

    (void)state;
    for (unsigned opcode = 0; opcode < 16; opcode++)
        count[mgds_cqe_judge(last_dword(opcode, 1), ENTRIES, ENTRIES)]++;
    assert_int_equal(count[MGDS_CQE_DONE], 5);
    assert_int_equal(count[MGDS_CQE_NOT_YET], 1);
    assert_int_equal(count[MGDS_CQE_FAILED], 10);
    assert_int_equal(
        mgds_cqe_judge(last_dword(MGDS_CQE_REQUEST_ERROR, 0), 0, ENTRIES),
        MGDS_CQE_FAILED);
}

static void counters_grow_beyond_16_bits(void **state)
{
    (void)state;
    assert_int_equal(mgds_cqe_counter(last_dword(MGDS_CQE_REQUEST, 0)), 0x0102);
    assert_int_equal(mgds_cqe_block(0x0102, 0x0102), 0x0102);
    assert_int_equal(mgds_cqe_block(0x0003, 0x2fffe), 0x30003);
    assert_int_equal(mgds_cqe_block(0xfffd, 0x2fffe), 0x3fffd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_are),
        cmocka_unit_test(reads_atomics_and_sends_are),
        cmocka_unit_test(a_dci_names_whom_it_calls),
        cmocka_unit_test(blocks_are_counted),
        cmocka_unit_test(stamps_replace_each_other),
        cmocka_unit_test(doorbells_and_records_are),
        cmocka_unit_test(an_entry_is_there_in_its_lap),
        cmocka_unit_test(what_is_no_success_is_an_error),
        cmocka_unit_test(counters_grow_beyond_16_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
