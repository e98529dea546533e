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

static struct mgds_domain *open_domain(uint64_t id, unsigned peers)
{
    struct mgds_member *members =
        (struct mgds_member *)calloc(peers, sizeof(*members));
    const struct mgds_domain_spec spec = {
        .id = id, .rank = 0, .size = peers, .members = members};
    struct mgds_domain *domain = NULL;
    const void *address;
    size_t bytes;

    assert_non_null(members);
    assert_int_equal(mgds_domains_open(false, &address, &bytes), 0);
    for (unsigned i = 0; i < peers; i++)
        members[i] =
            (struct mgds_member){.address = &wire_address[i % WIRE_PEERS],
                                 .address_bytes = 1,
                                 .process = i + 1};
    assert_int_equal(mgds_domain_create(&domain, &spec), 0);
    free(members);
    return domain;
}

static uint64_t id_of(unsigned i, bool drawn)
{
    return drawn ? (i + 1) * UINT64_C(0xd1342543de82ef95) : i + 1;
}

static void assert_found(struct mgds_domain *const domains[], bool drawn)
{
    uint64_t begin;

    mgds_engine_enter();
    begin = mgds_domain_steps();
    for (unsigned i = 0; i < DOMAINS; i++)
        assert_ptr_equal(mgds_domain_find(id_of(i, drawn)), domains[i]);
    assert_null(mgds_domain_find(id_of(DOMAINS, drawn)));
    assert_true(mgds_domain_steps() - begin < (uint64_t)FEW * DOMAINS);
    mgds_engine_leave();
}

/* Ids that follow one another, and drawn ones. */
static void a_domain_is_found_among_many(void **state)
{
    static struct mgds_domain *domains[DOMAINS];

    (void)state;
    for (int drawn = 0; drawn < 2; drawn++) {
        for (unsigned i = 0; i < DOMAINS; i++)
            domains[i] = open_domain(id_of(i, drawn), 1);
        assert_found(domains, drawn);
        for (unsigned i = 0; i < DOMAINS; i++) {
            mgds_domain_put(domains[i]);
            domains[i] = NULL;
        }
        mgds_engine_enter();
        assert_null(mgds_domain_find(id_of(7, drawn)));
        mgds_engine_leave();
    }
    mgds_domains_fini();
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
    struct mgds_domain *domain = open_domain(1, PEERS);
    struct mgds_domain *other = open_domain(2, PEERS);

    (void)state;
    mgds_engine_enter();
    for (unsigned i = 0; i < RANKS; i++) {
        mgds_credit_add(domain, ranks[i], i);
        mgds_credit_add(domain, ranks[i], i + RANKS);
        mgds_credit_add(other, ranks[i], i);
    }
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 0);
    assert_int_equal(mgds_works_count(MGDS_WORK_CREDIT, is_any, NULL),
                     2 * RANKS);
    mgds_credits_tell();
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 2 * RANKS);
    assert_int_equal(mgds_works_count(MGDS_WORK_CREDIT, is_any, NULL), 0);
    mgds_credit_add(domain, 5, 1); /* told when the domain goes */
    mgds_engine_leave();
    mgds_domain_put(domain);
    assert_int_equal(wire_posts(MGDS_ENVELOPE_TAKEN), 2 * RANKS + 1);
    mgds_domain_put(other);
    mgds_domains_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_domain_is_found_among_many),
        cmocka_unit_test(ranks_with_credit_are_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
