/* Which protocols a send may have: every combination of facts, beside a table
 * of those that allow one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/proto/protocol.h"
#include "shim/gds/proto/select.h"

enum { F = 1 << MGDS_PROTOCOL_FRAGMENTS };
enum { E = 1 << MGDS_PROTOCOL_EAGER };
enum { R = 1 << MGDS_PROTOCOL_RGET };
enum { MOST = 8192, LEAST = 4096 };

/* By size, when nothing keeps it from any. */
static const struct {
    uint64_t bytes, most, least;
    unsigned set;
} sizes[] = {
    {0, MOST, LEAST, F | E},
    {1, MOST, LEAST, F | E},
    {LEAST - 1, MOST, LEAST, F | E},
    {LEAST, MOST, LEAST, F | E | R},
    {MOST, MOST, LEAST, F | E | R},
    {MOST + 1, MOST, LEAST, F | R},
    {UINT64_MAX, MOST, LEAST, F | R},
    {0, 0, LEAST, F | E},
    {1, 0, LEAST, F},
    {LEAST, 0, LEAST, F | R},
    {LEAST, MOST, 0, F | E},
    {MOST + 1, MOST, 0, F},
    {0, MOST, 0, F | E},
};

/* Of all that the other facts are, these leave some of what the size allows. */
static unsigned left(const struct mgds_select_facts *facts)
{
    unsigned set = F;

    if (facts->fits && !facts->sync && facts->slots)
        set |= E;
    if (set & E && facts->words && !facts->stands_for_itself)
        set |= R;
    return set;
}

static void every_combination(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned bits = 0; bits < 32; bits++) {
            const struct mgds_select_facts facts = {
                .bytes = sizes[i].bytes,
                .eager_most = sizes[i].most,
                .rget_least = sizes[i].least,
                .fits = bits & 1,
                .sync = bits & 2,
                .stands_for_itself = bits & 4,
                .slots = bits & 8,
                .words = bits & 16};

            assert_int_equal(mgds_select(&facts), sizes[i].set & left(&facts));
        }
}

static void protocols_have_their_rows(void **state)
{
    (void)state;
    for (unsigned id = 0; id < MGDS_PROTOCOLS; id++) {
        const struct mgds_protocol *row = mgds_protocol_of(id);

        assert_int_equal(row->id, id);
        assert_true(row->slotted == (row->record != NULL));
        assert_true(row->describe && row->command && row->reached);
        assert_true(row->answer && row->accept);
    }
    assert_null(mgds_protocol_of(MGDS_PROTOCOLS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination),
        cmocka_unit_test(protocols_have_their_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
