/* What becomes of a buffer of a point-to-point call (mgds_p2p_side), as a truth
 * table. The driver, the datatypes and the pool are played; no MPI is called.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/mem/layout.h"
#include "shim/gds/direct/pull.h"
#include "shim/pmpi/aware.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_exchange.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/direct_send.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/hostrecv.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/p2p.h"
#include "shim/pmpi/request_orphan.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_p2p.h"
#include "shim/pmpi/types.h"

/* One letter for each thing that decides. */
enum { PEER, COUNT, ADDRESS, TYPE, MEMORY, AWARE, POOL, AXES };
static const char *letters[AXES] = {
    [PEER] = "rn",        /* a rank, MPI_PROC_NULL */
    [COUNT] = "+0-",      /* as it says */
    [ADDRESS] = "bi",     /* a buffer, MPI_IN_PLACE */
    [TYPE] = "dsuexkm",   /* dense, sparse, sparse and uncommitted, empty, no
                             datatype, of an unknown combiner, no memory */
    [MEMORY] = "hpmgvfe", /* host, pinned, managed, device, mapped, freed, the
                             driver fails */
    [AWARE] = "sp",       /* below takes GPU memory: no (stage), yes (pass) */
    [POOL] = "yn",        /* there is a bounce, there is none */
};

enum { STAGED = 1, PACKED = 2, PASSES = 0 };

/* The first row that matches holds; a dot is any letter. */
static const struct {
    const char *when;
    int then; /* or negative errno */
} table[] = {
    {"n......", PASSES}, /* nothing is touched */
    {"r0.....", PASSES}, /* nor here */
    {"r-.....", PASSES}, /* refused below */
    {"r+i....", PASSES}, /* likewise */
    {"r+bx...", PASSES}, /* likewise */
    {"r+bk...", -ENOTSUP}, {"r+bm...", -ENOMEM},
    {"r+be...", PASSES}, /* no bytes */
    {"r+b.h..", PASSES},   {"r+b.p..", PASSES},
    {"r+b.m..", PASSES}, /* the CPU may touch all three */
    {"r+b.f..", -EFAULT},  {"r+b.e..", -EIO},
    {"r+b..p.", PASSES}, /* GPU memory that below takes */
    {"r+bu.s.", PASSES}, /* refused below */
    {"r+b..sn", -ENOMEM},  {"r+bd.sy", STAGED},
    {"r+bs.sy", PACKED},
};

static struct {
    char letter[AXES + 1];
    struct mgds_layout *dense, *sparse, *empty, *apart;
    unsigned looks, bounces;
    enum mgds_bounce_form form;
} now;

static char memory[4096];
static struct mgds_bounce *const a_bounce = (struct mgds_bounce *)memory;
static char bounced[64];

/* Basic ones need no layout to be seen on the host. */
#define DERIVED_TYPE ((MPI_Datatype)0x8c000077)
#define LIST_TYPE ((MPI_Datatype)0x8c000078)

static MPI_Datatype type_now;
static enum mgds_side_way way_now;
static bool is_mixed;
static const char *freed_piece, *gpu_piece;

int mgds_type_layout(struct mgds_layout **out, MPI_Datatype type)
{
    switch (now.letter[TYPE]) {
    case 'x':
        return -EINVAL;
    case 'k':
        return -ENOTSUP;
    case 'm':
        return -ENOMEM;
    case 'e':
        *out = mgds_layout_get(now.empty);
        return 0;
    default:
        break;
    }
    if (type == LIST_TYPE)
        *out = mgds_layout_get(now.apart);
    else
        *out =
            mgds_layout_get(now.letter[TYPE] == 'd' ? now.dense : now.sparse);
    return 0;
}

bool mgds_type_committed(MPI_Datatype type)
{
    (void)type;
    return now.letter[TYPE] != 'u';
}

bool mgds_type_is_mixed(MPI_Datatype type)
{
    (void)type;
    return is_mixed;
}

int mgds_ptr_find(struct mgds_ptr *out, const void *addr, size_t bytes)
{
    static const enum mgds_ptr_kind kinds[] = {
        ['h'] = MGDS_PTR_HOST,    ['p'] = MGDS_PTR_PINNED,
        ['m'] = MGDS_PTR_MANAGED, ['g'] = MGDS_PTR_DEVICE,
        ['v'] = MGDS_PTR_VMM,     [UCHAR_MAX] = MGDS_PTR_HOST};
    char letter = now.letter[MEMORY];

    assert_true(bytes > 0);
    now.looks++;
    if (letter == 'l') /* a list: by piece */
        letter = addr == freed_piece ? 'f' : addr == gpu_piece ? 'g' : 'h';
    if (letter == 'f')
        return -EFAULT;
    if (letter == 'e')
        return -EIO;
    *out = (struct mgds_ptr){.kind = kinds[(unsigned char)letter]};
    return 0;
}

bool mgds_aware_stages(const struct mgds_ptr *ptr)
{
    assert_true(mgds_ptr_is_gpu(ptr));
    return now.letter[AWARE] == 's';
}

int mgds_bounce_create(struct mgds_bounce **out, const struct mgds_buffer *user,
                       enum mgds_bounce_form form)
{
    assert_true(mgds_ptr_is_gpu(&user->ptr));
    now.form = form;
    if (now.letter[POOL] == 'n')
        return -ENOMEM;
    now.bounces++;
    *out = a_bounce;
    return 0;
}

void *mgds_bounce_base(const struct mgds_bounce *bounce)
{
    assert_ptr_equal(bounce, a_bounce);
    return bounced;
}

size_t mgds_bounce_bytes(const struct mgds_bounce *bounce)
{
    (void)bounce;
    return 24;
}

void mgds_bounce_destroy(struct mgds_bounce *bounce)
{
    now.bounces -= bounce != NULL;
}

/* What else is called from the files under test, and must not be here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOT_HERE(type, name, params)                                           \
    type name params                                                           \
    {                                                                          \
        fail_msg("%s was called", #name);                                      \
        return (type)0;                                                        \
    }

NOT_HERE(int, mgds_bounce_down,
         (struct mgds_bounce * bounce, size_t first, size_t bytes))
NOT_HERE(int, mgds_bounce_up,
         (struct mgds_bounce * bounce, size_t first, size_t bytes))
NOT_HERE(bool, mgds_bounce_tears,
         (const struct mgds_bounce *bounce, size_t bytes))
NOT_HERE(int, mgds_bounce_poll, (struct mgds_bounce * bounce))
NOT_HERE(int, mgds_bounce_wait,
         (struct mgds_bounce * bounce, void (*idle)(void)))
NOT_HERE(int, mgds_mpi_error, (MPI_Comm comm, int rc))
NOT_HERE(MPI_Count, mgds_below_bytes, (const MPI_Status *status))
NOT_HERE(bool, mgds_below_has_data, (int error))
NOT_HERE(mgds_next_fn *, mgds_next_find,
         (enum mgds_call call, enum mgds_face face))
NOT_HERE(struct mgds_scomm *, mgds_scomm_find, (MPI_Comm handle))
NOT_HERE(mgds_word, mgds_stream_p2p_send,
         (const struct mgds_call_words *words, struct mgds_scomm *scomm))
NOT_HERE(mgds_word, mgds_stream_p2p_recv,
         (const struct mgds_call_words *words, struct mgds_scomm *scomm))
NOT_HERE(mgds_word, mgds_stream_p2p_sendrecv,
         (const struct mgds_call_words *words, struct mgds_scomm *scomm))
NOT_HERE(mgds_word, mgds_stream_p2p_replace,
         (const struct mgds_call_words *words, struct mgds_scomm *scomm,
          bool blocking))
NOT_HERE(bool, mgds_stream_p2p_mrecv,
         (mgds_word * result, const struct mgds_call_words *words,
          bool blocking))
NOT_HERE(int, mgds_direct_exchange_run,
         (struct mgds_direct_exchange * exchange, MPI_Status *status))
NOT_HERE(int, mgds_direct_offer_create,
         (struct mgds_direct_offer * *out, const struct mgds_call_words *call))
NOT_HERE(int, mgds_direct_receive,
         (const struct mgds_side *side, const struct mgds_direct_match *match,
          MPI_Status *status))
NOT_HERE(bool, mgds_direct_send,
         (mgds_word * result, const struct mgds_call_words *call))
NOT_HERE(bool, mgds_hostrecv_recv,
         (mgds_word * result, struct mgds_call_words *call))
NOT_HERE(int, mgds_direct_recv_land,
         (struct mgds_direct_recv * recv, MPI_Status *status))
NOT_HERE(bool, mgds_direct_recv_pulls, (const struct mgds_direct_recv *recv))
NOT_HERE(int, mgds_direct_recv_poll, (struct mgds_direct_recv * recv))
NOT_HERE(int, mgds_direct_recv_wait, (struct mgds_direct_recv * recv))
NOT_HERE(struct mgds_kept *, mgds_kept_take_message, (MPI_Message handle))
#pragma GCC diagnostic pop

/* It is in no batch. */
void mgds_pull_batch_flush(void)
{
}

void mgds_direct_offer_destroy(struct mgds_direct_offer *offer)
{
    (void)offer;
    fail();
}

void mgds_direct_recv_give(struct mgds_direct_recv *recv,
                           struct mgds_kept *kept)
{
    (void)recv;
    (void)kept;
    fail();
}

void mgds_direct_arm_by_gpu(void)
{
}

bool mgds_direct_is_armed, mgds_direct_shared;
unsigned mgds_kept_count;

/* What is watched for a header. */
static struct {
    unsigned alive;
    bool apart;
    struct mgds_bounce *bounce;
} watched;

int mgds_direct_recv_create(struct mgds_direct_recv **out,
                            const struct mgds_buffer *buffer,
                            struct mgds_bounce *bounce,
                            struct mgds_direct_words *words, bool apart)
{
    assert_non_null(buffer->layout);
    watched.alive++;
    watched.apart = apart;
    watched.bounce = bounce;
    words->addr = &watched;
    *out = (struct mgds_direct_recv *)&watched;
    return 0;
}

void mgds_direct_recv_destroy(struct mgds_direct_recv *recv)
{
    watched.alive -= recv != NULL;
}

unsigned mgds_requests_alive;
unsigned mgds_scomms_alive;
mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES];
_Thread_local struct mgds_inside mgds_inside;

void mgds_below_progress(void)
{
    fail();
}

void mgds_request_orphans_poll(void)
{
    fail();
}

static int expected(void)
{
    for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
        const char *when = table[row].when;
        int axis = 0;

        while (axis < AXES &&
               (when[axis] == '.' || when[axis] == now.letter[axis]))
            axis++;
        if (axis == AXES)
            return table[row].then;
    }
    fail_msg("no row for %s", now.letter);
    return 0;
}

static struct mgds_call_words call_now(void)
{
    int count = now.letter[COUNT] == '+'   ? 3
                : now.letter[COUNT] == '0' ? 0
                                           : -1;
    const void *at = now.letter[ADDRESS] == 'i' ? MPI_IN_PLACE : memory;

    /* The upper half of a register that holds an int is anything. */
    return (struct mgds_call_words){.word = {(mgds_word)at,
                                             0xdead00000000u | (unsigned)count,
                                             (mgds_word)type_now},
                                    .words = 7};
}

static void assert_side(const struct mgds_side *side,
                        const struct mgds_call_words *call, int want)
{
    bool packed = want == PACKED;

    assert_ptr_equal(side->bounce, want > 0 ? a_bounce : NULL);
    assert_ptr_equal(side->addr, want > 0 ? bounced : (char *)call->word[0]);
    assert_int_equal(side->count, packed ? 24 : (int)call->word[1]);
    assert_int_equal(side->type, packed ? MPI_BYTE : type_now);
}

static void check(void)
{
    mgds_word peer = now.letter[PEER] == 'n' ? (mgds_word)MPI_PROC_NULL : 0;
    struct mgds_call_words call = call_now();
    struct mgds_side side;
    int want = expected(), rc;

    now.looks = now.bounces = 0;
    rc = mgds_p2p_side(&side, &call, 0, peer, way_now);
    if (rc != (want > 0 ? 1 : want))
        fail_msg("%s: %d, should be %d", now.letter, rc, want);
    if (strncmp(now.letter, "r+b", 3) != 0)
        assert_int_equal(now.looks, 0); /* the driver is not asked */
    assert_int_equal(now.bounces, want > 0);
    if (rc < 0)
        return;
    assert_side(&side, &call, want);
    mgds_side_fini(&side);
    assert_int_equal(now.bounces, 0);
}

static void each(int axis)
{
    if (axis == AXES) {
        check();
        return;
    }
    for (const char *letter = letters[axis]; *letter; letter++) {
        now.letter[axis] = *letter;
        each(axis + 1);
    }
}

static void every_combination_is_decided_as_the_table_says(void **state)
{
    (void)state;
    type_now = DERIVED_TYPE;
    each(0);
}

/* With the layouts that they have: dense ones. */
static void basic_datatypes_are_decided_alike(void **state)
{
    const char *all = letters[TYPE];

    (void)state;
    type_now = MPI_INT;
    letters[TYPE] = "d";
    each(0);
    letters[TYPE] = all;
}

/* What becomes of a buffer on an armed rank: 2: it is watched for a header. */
static const struct {
    const char *when;
    enum mgds_side_way way;
    int then;
} armed_rows[] = {
    {"r+bdhsy", MGDS_SIDE_RECV, 2},       {"r+bdhsy", MGDS_SIDE_APART, 2},
    {"r+bdhsy", MGDS_SIDE_SEND, 0},       {"r+bdhsy", MGDS_SIDE_PARTS, 0},
    {"r+bshsy", MGDS_SIDE_RECV, 2},       {"r0bdhsy", MGDS_SIDE_RECV, 2},
    {"r+bdgsy", MGDS_SIDE_RECV, 2},       {"r+bdgpy", MGDS_SIDE_RECV, 2},
    {"r+bdgsy", MGDS_SIDE_PARTS, 1},      {"r+bdgsy", MGDS_SIDE_SEND, 1},
    {"n+bdhsy", MGDS_SIDE_RECV, 0},       {"r-bdhsy", MGDS_SIDE_RECV, 0},
    {"r+buhsy", MGDS_SIDE_RECV, 0},       {"r+bxhsy", MGDS_SIDE_RECV, 0},
    {"r+idhsy", MGDS_SIDE_RECV, 0},       {"r+bdfsy", MGDS_SIDE_RECV, -EFAULT},
    {"r+bdgsn", MGDS_SIDE_RECV, -ENOMEM},
};

static void receives_of_an_armed_rank_are_watched(void **state)
{
    (void)state;
    type_now = DERIVED_TYPE;
    mgds_direct_is_armed = true;
    for (size_t i = 0; i < sizeof(armed_rows) / sizeof(*armed_rows); i++) {
        mgds_word peer =
            armed_rows[i].when[PEER] == 'n' ? (mgds_word)MPI_PROC_NULL : 0;
        int then = armed_rows[i].then;
        struct mgds_call_words call;
        struct mgds_side side;

        strcpy(now.letter, armed_rows[i].when);
        call = call_now();
        now.bounces = 0;
        assert_int_equal(
            mgds_p2p_side(&side, &call, 0, peer, armed_rows[i].way),
            then == 2 ? 1 : then);
        assert_int_equal(watched.alive, then == 2);
        if (then == 2) {
            assert_ptr_equal(side.addr, &watched);
            assert_ptr_equal(side.bounce, watched.bounce);
            assert_int_equal(watched.apart,
                             armed_rows[i].way == MGDS_SIDE_APART);
        }
        if (then >= 0)
            mgds_side_fini(&side);
        assert_int_equal(watched.alive, 0);
        assert_int_equal(now.bounces, 0);
    }
    mgds_direct_is_armed = false;
}

static void host_memory_of_a_basic_datatype_needs_no_layout(void **state)
{
    struct mgds_call_words call;
    struct mgds_side side;

    (void)state;
    type_now = MPI_INT;
    strcpy(now.letter, "r+bkhsy"); /* a layout would be an error */
    call = call_now();
    assert_int_equal(mgds_p2p_side(&side, &call, 0, 0, way_now), 0);
}

static void every_row_of_the_table_is_met(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
        for (int axis = 0; axis < AXES; axis++) {
            char letter = table[row].when[axis];

            now.letter[axis] = letter == '.' ? letters[axis][0] : letter;
        }
        if (now.letter[MEMORY] == 'h' && table[row].when[MEMORY] == '.')
            now.letter[MEMORY] = 'g';
        assert_int_equal(expected(), table[row].then);
    }
}

/* What mixes sizes keeps its datatype when it is sent, if it lies close. */
static void mixed_datatypes_are_sent_as_they_are(void **state)
{
    static const struct {
        bool mixed, sent, dense, apart, keeps;
    } rows[] = {
        {true, true, false, false, true},   {true, true, false, true, false},
        {true, false, false, false, false}, {false, true, false, false, false},
        {true, true, true, false, true},    {false, false, true, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct mgds_call_words call;
        struct mgds_side side;

        strcpy(now.letter, rows[i].dense ? "r+bdgsy" : "r+bsgsy");
        type_now = rows[i].apart ? LIST_TYPE : DERIVED_TYPE;
        is_mixed = rows[i].mixed;
        way_now = rows[i].sent ? MGDS_SIDE_SEND : MGDS_SIDE_RECV;
        call = call_now();
        assert_int_equal(mgds_p2p_side(&side, &call, 0, 0, way_now), 1);
        assert_int_equal(side.type == type_now, rows[i].keeps);
        assert_int_equal(now.form == MGDS_BOUNCE_MIRROR,
                         rows[i].keeps && !rows[i].dense);
        mgds_side_fini(&side);
    }
    is_mixed = false;
    way_now = MGDS_SIDE_RECV;
}

/* MPI_BOTTOM and a datatype of addresses: each piece for itself. */
static int look_at_pieces(const char *gpu, const char *freed)
{
    struct mgds_call_words call = {.word = {0, 1, (mgds_word)LIST_TYPE},
                                   .words = 7};
    struct mgds_side side;
    int rc;

    strcpy(now.letter, "r+bslsy");
    gpu_piece = gpu;
    freed_piece = freed;
    rc = mgds_p2p_side(&side, &call, 0, 0, way_now);
    if (rc >= 0)
        mgds_side_fini(&side);
    return rc;
}

static void pieces_of_several_allocations_are_looked_at_one_by_one(void **state)
{
    (void)state;
    assert_int_equal(look_at_pieces(NULL, NULL), 0);
    assert_int_equal(look_at_pieces(memory + 100, NULL), 1);
    assert_int_equal(look_at_pieces(memory + 1100, NULL), 1);
    assert_int_equal(look_at_pieces(memory + 100, memory + 1100), -EFAULT);
}

static void buffers_that_no_memory_holds_are_left_to_the_mpi_below(void **state)
{
    struct mgds_call_words call = {
        .word = {(mgds_word)memory, INT64_MAX, (mgds_word)MPI_INT},
        .words = 7,
        .large = true};
    struct mgds_side side;

    (void)state;
    strcpy(now.letter, "r+bdgsy");
    assert_int_equal(mgds_p2p_side(&side, &call, 0, 0, way_now), 0);
    assert_true(side.count == INT64_MAX);
}

static int make_layouts(void **state)
{
    const size_t lengths[2] = {10, 20};
    const ptrdiff_t at[2] = {(ptrdiff_t)(memory + 100),
                             (ptrdiff_t)(memory + 1100)};
    struct mgds_layout *byte;

    (void)state;
    assert_int_equal(mgds_layout_bytes(&byte, 1, 1), 0);
    assert_int_equal(mgds_layout_bytes(&now.dense, 8, 8), 0);
    assert_int_equal(mgds_layout_hvector(&now.sparse, byte, 8, 1, 3), 0);
    assert_int_equal(mgds_layout_contiguous(&now.empty, byte, 0), 0);
    assert_int_equal(mgds_layout_hindexed(&now.apart, byte, 2, lengths, at), 0);
    mgds_layout_put(byte);
    return 0;
}

static int put_layouts(void **state)
{
    (void)state;
    mgds_layout_put(now.dense);
    mgds_layout_put(now.sparse);
    mgds_layout_put(now.empty);
    mgds_layout_put(now.apart);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_is_decided_as_the_table_says),
        cmocka_unit_test(basic_datatypes_are_decided_alike),
        cmocka_unit_test(receives_of_an_armed_rank_are_watched),
        cmocka_unit_test(host_memory_of_a_basic_datatype_needs_no_layout),
        cmocka_unit_test(mixed_datatypes_are_sent_as_they_are),
        cmocka_unit_test(every_row_of_the_table_is_met),
        cmocka_unit_test(
            pieces_of_several_allocations_are_looked_at_one_by_one),
        cmocka_unit_test(
            buffers_that_no_memory_holds_are_left_to_the_mpi_below),
    };

    return cmocka_run_group_tests(tests, make_layouts, put_layouts);
}
