/* What is done under the engine's lock for each envelope, however many
 * communicators and ranks there are: counted in records that are looked at. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "shim/gds/proto/credit.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/work.h"
#include "tests/unit/fake_wire.h"

enum { DOMAINS = 1500, PEERS = 2000, FEW = 4 };

static struct mgds_comm *open_comm(uint64_t id, unsigned peers)
{
    struct mgds_member *members =
        (struct mgds_member *)calloc(peers, sizeof(*members));
    const struct mgds_comm_spec spec = {
        .id = id, .rank = 0, .size = peers, .members = members};
    struct mgds_comm *comm = NULL;
    const void *address;
    size_t bytes;

    assert_non_null(members);
    assert_int_equal(mgds_comms_open(false, &address, &bytes), 0);
    for (unsigned i = 0; i < peers; i++)
        members[i] =
            (struct mgds_member){.address = &wire_address[i % WIRE_PEERS],
                                 .address_bytes = 1,
                                 .process = i + 1};
    assert_int_equal(mgds_comm_create(&comm, &spec), 0);
    free(members);
    return comm;
}

static uint64_t id_of(unsigned i, bool drawn)
{
    return drawn ? (i + 1) * UINT64_C(0xd1342543de82ef95) : i + 1;
}

static void assert_found(struct mgds_comm *const comms[], bool drawn)
{
    uint64_t begin;

    mgds_engine_enter();
    begin = mgds_comm_steps();
    for (unsigned i = 0; i < DOMAINS; i++)
        assert_ptr_equal(mgds_comm_find(id_of(i, drawn)), comms[i]);
    assert_null(mgds_comm_find(id_of(DOMAINS, drawn)));
    assert_true(mgds_comm_steps() - begin < (uint64_t)FEW * DOMAINS);
    mgds_engine_leave();
}

/* Ids that follow one another, and drawn ones. */
static void a_comm_is_found_among_many(void **state)
{
    static struct mgds_comm *comms[DOMAINS];

    (void)state;
    for (int drawn = 0; drawn < 2; drawn++) {
        for (unsigned i = 0; i < DOMAINS; i++)
            comms[i] = open_comm(id_of(i, drawn), 1);
        assert_found(comms, drawn);
        for (unsigned i = 0; i < DOMAINS; i++) {
            mgds_comm_put(comms[i]);
            comms[i] = NULL;
        }
        mgds_engine_enter();
        assert_null(mgds_comm_find(id_of(7, drawn)));
        mgds_engine_leave();
    }
    mgds_comms_fini();
}

static bool is_any(const struct mgds_work *work, const void *arg)
{
    (void)work;
    (void)arg;
    return true;
}

/* As many work items as ranks that are to be told, however many there are. */
static void ranks_with_credit_are_told_once(void **state)
{
    static const unsigned ranks[] = {0, 1, PEERS / 2, PEERS - 1};
    enum { RANKS = sizeof(ranks) / sizeof(ranks[0]) };
    struct mgds_comm *comm = open_comm(1, PEERS);
    struct mgds_comm *other = open_comm(2, PEERS);

    (void)state;
    mgds_engine_enter();
    for (unsigned i = 0; i < RANKS; i++) {
        mgds_credit_add(comm, ranks[i], i);
        mgds_credit_add(comm, ranks[i], i + RANKS);
        mgds_credit_add(other, ranks[i], i);
    }
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 0);
    assert_int_equal(mgds_works_count(MGDS_WORK_CREDIT, is_any, NULL),
                     2 * RANKS);
    mgds_credits_tell();
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 2 * RANKS);
    assert_int_equal(mgds_works_count(MGDS_WORK_CREDIT, is_any, NULL), 0);
    mgds_credit_add(comm, 5, 1); /* told when the communicator goes */
    mgds_engine_leave();
    mgds_comm_put(comm);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 2 * RANKS + 1);
    mgds_comm_put(other);
    mgds_comms_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comm_is_found_among_many),
        cmocka_unit_test(ranks_with_credit_are_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
