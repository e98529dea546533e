/* Which buffers of a collective mean something where: coll_table.def and
 * coll_plan.c as truth tables. No MPI is called. */
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shim/pmpi/coll.h"

/* Letters: the direction of each buffer. d: read by the MPI below, o: only the
 * own block of it; u: written, f: only as much as the own block. -: not to be
 * looked at. */
static void direction(char out[3], const struct mgds_coll_part *part)
{
    static const char down[] = "-do", up[] = "-uf";

    out[0] = down[part->down == MGDS_COLL_OWN_BLOCK ? 2 : part->down];
    out[1] = part->up == MGDS_COLL_FIRST_BLOCK ? up[2] : up[part->up];
    out[2] = '\0';
}

static int plan(struct mgds_coll_part parts[MGDS_COLL_PARTS],
                enum mgds_call call, const struct mgds_coll_facts *facts,
                const mgds_word words[MGDS_COLL_WORDS])
{
    assert_non_null(mgds_coll_calls[call].row);
    return mgds_coll_plan(parts, mgds_coll_calls[call].row, facts, words);
}

/* Send and receive buffer at word 0 and receive, root where it stands. */
struct question {
    enum mgds_call call;
    const char *want; /* send/receive; "--" where there is none */
    int rank, remote, root;
    int in_place; /* 1: send; 2: receive */
};

static void put_words(mgds_word words[MGDS_COLL_WORDS],
                      const struct question *q)
{
    const struct mgds_coll_row *row = mgds_coll_calls[q->call].row;

    memset(words, 0, MGDS_COLL_WORDS * sizeof(*words));
    words[row->recv.addr] = 0x2000;
    words[row->send.addr] = 0x1000;
    if (q->in_place)
        words[q->in_place == 1 ? row->send.addr : row->recv.addr] =
            (mgds_word)MPI_IN_PLACE;
    /* The upper half of a register that holds an int is anything. */
    if (row->root != MGDS_COLL_NONE)
        words[row->root] = 0xdead00000000u | (unsigned)q->root;
}

/* Bcast has one buffer. */
static bool is_receive(const struct mgds_coll_row *row,
                       const struct mgds_coll_part *part)
{
    if (row->recv.addr == row->send.addr)
        return part->up != MGDS_COLL_NOTHING;
    return part->side.addr == row->recv.addr;
}

static void ask(const struct question *q)
{
    struct mgds_coll_facts facts = {
        .rank = q->rank, .size = 4, .remote = q->remote, .in = 2, .out = 3};
    const struct mgds_coll_row *row = mgds_coll_calls[q->call].row;
    struct mgds_coll_part parts[MGDS_COLL_PARTS];
    mgds_word words[MGDS_COLL_WORDS];
    char is[8] = "--/--", part[3];
    int count;

    put_words(words, q);
    count = plan(parts, q->call, &facts, words);
    for (int i = 0; i < count; i++) {
        direction(part, &parts[i]);
        memcpy(is + (is_receive(row, &parts[i]) ? 3 : 0), part, 2);
    }
    if (strcmp(is, q->want) != 0)
        print_error("%s rank %d root %d in place %d remote %d\n",
                    mgds_call_rows[q->call].name, q->rank, q->root, q->in_place,
                    q->remote);
    assert_string_equal(is, q->want);
}

#define C(name) MGDS_CALL_##name

static void buffers_mean_something_where_the_standard_says(void **state)
{
    static const struct question questions[] = {
        {C(Allgather), "d-/-u", 1, 0, 0, 0},
        {C(Allgather), "--/ou", 1, 0, 0, 1},
        {C(Allgather), "d-/-u", 1, 3, 0, 0},
        {C(Allgatherv), "--/ou", 1, 0, 0, 1},
        {C(Allreduce), "d-/-u", 1, 0, 0, 0},
        {C(Allreduce), "--/du", 1, 0, 0, 1},
        {C(Alltoall), "--/du", 1, 0, 0, 1},
        {C(Alltoallv), "d-/-u", 1, 0, 0, 0},
        {C(Ialltoallw_c), "--/du", 1, 0, 0, 1},
        {C(Bcast), "d-/--", 1, 0, 1, 0},
        {C(Bcast), "--/-u", 1, 0, 2, 0},
        {C(Bcast), "--/-u", 1, 3, 2, 0},
        {C(Bcast), "--/-u", 1, 3, 1, 0},
        {C(Bcast), "d-/--", 1, 3, MPI_ROOT, 0},
        {C(Bcast), "--/--", 1, 3, MPI_PROC_NULL, 0},
        {C(Exscan), "d-/-u", 1, 0, 0, 0},
        {C(Exscan), "d-/--", 0, 0, 0, 0},
        {C(Exscan), "--/d-", 0, 0, 0, 1},
        {C(Exscan), "--/du", 1, 0, 0, 1},
        {C(Gather), "d-/-u", 1, 0, 1, 0},
        {C(Gather), "d-/--", 1, 0, 2, 0},
        {C(Gather), "--/ou", 1, 0, 1, 1},
        {C(Gather), "d-/--", 1, 3, 1, 0},
        {C(Gather), "--/-u", 1, 3, MPI_ROOT, 0},
        {C(Gather), "--/--", 1, 3, MPI_PROC_NULL, 0},
        {C(Igatherv), "--/ou", 1, 0, 1, 1},
        {C(Igatherv), "d-/--", 1, 0, 3, 0},
        {C(Reduce), "d-/-u", 1, 0, 1, 0},
        {C(Reduce), "d-/--", 1, 0, 2, 0},
        {C(Reduce), "--/du", 1, 0, 1, 1},
        {C(Reduce_scatter), "d-/-u", 1, 0, 0, 0},
        {C(Reduce_scatter), "--/df", 1, 0, 0, 1},
        {C(Reduce_scatter_block), "--/df", 1, 0, 0, 1},
        {C(Scan), "--/du", 0, 0, 0, 1},
        {C(Scatter), "d-/-u", 1, 0, 1, 0},
        {C(Scatter), "--/-u", 1, 0, 2, 0},
        {C(Scatter), "d-/--", 1, 0, 1, 2},
        {C(Scatterv), "d-/--", 1, 3, MPI_ROOT, 0},
        {C(Scatterv), "--/-u", 1, 3, 0, 0},
        {C(Scatterv), "--/--", 1, 3, MPI_PROC_NULL, 0},
        {C(Neighbor_alltoallw), "d-/-u", 1, 0, 0, 0},
        {C(Reduce_local), "d-/du", 0, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
        ask(&questions[i]);
}

static void blocks_are_as_many_as_there_are_peers(void **state)
{
    static const struct {
        enum mgds_call call;
        int remote, sends, receives;
    } rows[] = {
        {C(Allgather), 0, 1, 4},          {C(Allgather), 3, 1, 3},
        {C(Alltoallv), 0, 4, 4},          {C(Alltoallv), 3, 3, 3},
        {C(Reduce_scatter), 0, 4, 1},     {C(Reduce_scatter), 3, 4, 1},
        {C(Neighbor_allgather), 0, 1, 2}, {C(Neighbor_alltoall), 0, 3, 2},
        {C(Allreduce), 3, 1, 1},
    };
    struct mgds_coll_part parts[MGDS_COLL_PARTS];
    const mgds_word words[MGDS_COLL_WORDS] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct mgds_coll_facts facts = {
            .size = 4, .remote = rows[i].remote, .in = 2, .out = 3};

        assert_int_equal(plan(parts, rows[i].call, &facts, words), 2);
        assert_int_equal(parts[0].many, rows[i].sends);
        assert_int_equal(parts[1].many, rows[i].receives);
    }
}

static void
in_place_input_of_reduce_scatter_is_as_long_as_what_is_sent(void **state)
{
    struct mgds_coll_facts facts = {.rank = 2, .size = 4};
    struct mgds_coll_part parts[MGDS_COLL_PARTS];
    const mgds_word words[MGDS_COLL_WORDS] = {(mgds_word)MPI_IN_PLACE, 0x1000};

    (void)state;
    assert_int_equal(plan(parts, C(Reduce_scatter), &facts, words), 1);
    assert_int_equal(parts[0].side.addr, 1);
    assert_int_equal(parts[0].many, 4);
    assert_int_equal(parts[0].side.shape, MGDS_COLL_COUNTS);
}

static void
blocks_of_missing_neighbours_are_read_so_that_they_stay(void **state)
{
    struct mgds_coll_facts facts = {.size = 4, .in = 2, .out = 2, .gaps = true};
    struct mgds_coll_part parts[MGDS_COLL_PARTS];
    const mgds_word words[MGDS_COLL_WORDS] = {0};

    (void)state;
    assert_int_equal(plan(parts, C(Neighbor_alltoall), &facts, words), 2);
    assert_int_equal(parts[1].down, MGDS_COLL_ALL_OF_IT);
}

/* The table and mpi_table.def are about the same functions. */
static void every_body_has_a_row_of_the_right_length(void **state)
{
    (void)state;
    for (int call = 0; call < MGDS_CALLS; call++) {
        const struct mgds_call_row *is = &mgds_call_rows[call];
        const struct mgds_coll_call *coll = &mgds_coll_calls[call];

        if (is->family != MGDS_FAMILY_COLL || is->mode == MGDS_MODE_PASS) {
            assert_null(coll->row);
            continue;
        }
        assert_non_null(coll->row);
        assert_int_equal(coll->large,
                         is->name[strlen(is->name) - 1] == 'c' &&
                             is->name[strlen(is->name) - 2] == '_');
        if (coll->row->comm == MGDS_COLL_NONE)
            continue;
        /* Behind the communicator: a request, or an info and a request. */
        assert_int_equal(is->arguments, coll->row->comm + (int)coll->kind);
        assert_true(is->arguments <= MGDS_COLL_WORDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_mean_something_where_the_standard_says),
        cmocka_unit_test(blocks_are_as_many_as_there_are_peers),
        cmocka_unit_test(
            in_place_input_of_reduce_scatter_is_as_long_as_what_is_sent),
        cmocka_unit_test(
            blocks_of_missing_neighbours_are_read_so_that_they_stay),
        cmocka_unit_test(every_body_has_a_row_of_the_right_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
