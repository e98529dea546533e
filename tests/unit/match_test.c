/* The matcher against the rule itself: after every event each new pair must be
 * one that the rule allows, and nothing that it allows may be left over. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/match/match.h"
#include "tests/lib/sanitized.h"

enum { SENDS = 96, RECVS = 96, SOURCES = 4, TAGS = 5, PROGRAMS = 500 };

/* Of most programs, and of some large ones, which are not asked as often. */
enum { FEW = 24, FEW_SOURCES = 3, FEW_TAGS = 3, LARGE = 30, RARELY = 32 };

enum fate { ABSENT, THERE, PAIRED, GONE };

struct msg {
    struct mgds_match_send send; /* first */
    enum fate fate;
    bool arrived;
    int recv;
};

struct call {
    struct mgds_match_recv recv; /* first */
    enum fate fate;
    int send;
};

/* A program, and how far it has come. */
struct world {
    struct mgds_match *match;
    struct msg msg[SENDS];
    struct call call[RECVS];
    int sends, recvs;
    int posts; /* calls made: call[0 .. posts - 1] */
};

/* The rule, as the protocol says it. */

static bool accepts(const struct call *call, const struct msg *msg)
{
    return (call->recv.source == MGDS_ANY_SOURCE ||
            call->recv.source == msg->send.source) &&
           (call->recv.tag == MGDS_ANY_TAG || call->recv.tag == msg->send.tag);
}

static bool first_call(const struct world *w, int r, int m)
{
    for (int i = 0; i < r; i++)
        if (w->call[i].fate == THERE && accepts(&w->call[i], &w->msg[m]))
            return false;
    return w->call[r].fate == THERE && accepts(&w->call[r], &w->msg[m]);
}

/* Also sends whose envelope has not come count as earlier. */
static bool first_send(const struct world *w, int r, int m)
{
    for (int i = 0; i < w->sends; i++) {
        const struct msg *other = &w->msg[i];

        if (other->send.source == w->msg[m].send.source &&
            other->send.number < w->msg[m].send.number &&
            other->fate != PAIRED && other->fate != GONE &&
            accepts(&w->call[r], other))
            return false;
    }
    return true;
}

/* An envelope counts as arrived when all smaller ones have. */
static bool is_known(const struct world *w, int m)
{
    for (int i = 0; i < w->sends; i++)
        if (w->msg[i].send.source == w->msg[m].send.source &&
            w->msg[i].send.number <= w->msg[m].send.number &&
            !w->msg[i].arrived)
            return false;
    return w->msg[m].fate == THERE || w->msg[m].fate == ABSENT;
}

static bool allowed(const struct world *w, int r, int m)
{
    return is_known(w, m) && first_call(w, r, m) && first_send(w, r, m) &&
           (w->call[r].recv.source != MGDS_ANY_SOURCE ||
            w->msg[m].send.reached);
}

static void paired(void *owner, struct mgds_match_recv *recv,
                   struct mgds_match_send *send)
{
    struct world *w = owner;
    int m = (int)((struct msg *)(void *)send - w->msg);
    int r = (int)((struct call *)(void *)recv - w->call);

    assert_true(allowed(w, r, m));
    w->msg[m].fate = PAIRED;
    w->msg[m].recv = r;
    w->call[r].fate = PAIRED;
    w->call[r].send = m;
}

static void nothing_is_left(const struct world *w)
{
    for (int r = 0; r < w->posts; r++)
        for (int m = 0; m < w->sends; m++)
            assert_false(allowed(w, r, m));
}

static void create(struct world *w)
{
    assert_int_equal(mgds_match_create(&w->match, SOURCES, paired, w), 0);
}

static int add_send(struct world *w, int source, int tag)
{
    struct msg *msg = &w->msg[w->sends];
    uint64_t number = 0;

    for (int i = 0; i < w->sends; i++)
        number += w->msg[i].send.source == source;
    *msg = (struct msg){
        .send = {.source = source, .tag = tag, .number = number}, .recv = -1};
    return w->sends++;
}

static int add_recv(struct world *w, int source, int tag)
{
    w->call[w->recvs] =
        (struct call){.recv = {.source = source, .tag = tag}, .send = -1};
    return w->recvs++;
}

static void arrive(struct world *w, int m)
{
    w->msg[m].arrived = true;
    w->msg[m].fate = THERE;
    assert_int_equal(mgds_match_arrive(w->match, &w->msg[m].send), 0);
}

/* The owner's part: a message that has not come is marked when it does. */
static void reach(struct world *w, int m)
{
    struct mgds_match_send *send = &w->msg[m].send;

    if (!w->msg[m].arrived)
        send->reached = true;
    else if (w->msg[m].fate == THERE) {
        send->reached = true; /* what the rule is asked with, in paired */
        assert_true(mgds_match_reached(w->match, send->source, send->number));
    }
}

static void post(struct world *w)
{
    struct call *call = &w->call[w->posts++];

    call->fate = THERE;
    mgds_match_post(w->match, &call->recv);
}

static void finish(struct world *w)
{
    mgds_match_clear(w->match, NULL, NULL);
    assert_int_equal(mgds_match_waiting(w->match), 0);
    assert_int_equal(mgds_match_posted(w->match), 0);
    mgds_match_destroy(w->match);
}

/* Events: arrivals in any order, reaches in any order, posts in call order. */
struct deck {
    int card[2 * SENDS + RECVS]; /* m; SENDS + m reach; 2 * SENDS post */
    int count;
};

static void shuffle(struct deck *deck, const struct world *w, unsigned *seed)
{
    deck->count = 0;
    for (int i = 0; i < w->sends; i++) {
        deck->card[deck->count++] = i;
        deck->card[deck->count++] = SENDS + i;
    }
    for (int i = 0; i < w->recvs; i++)
        deck->card[deck->count++] = 2 * SENDS;
    for (int i = deck->count - 1; i > 0; i--) {
        int k = rand_r(seed) % (i + 1), card = deck->card[i];

        deck->card[i] = deck->card[k];
        deck->card[k] = card;
    }
}

static void play(struct world *w, int card)
{
    if (card == 2 * SENDS)
        post(w);
    else if (card >= SENDS)
        reach(w, card - SENDS);
    else
        arrive(w, card);
}

static void run(struct world *w, unsigned *seed)
{
    struct deck deck;

    create(w);
    shuffle(&deck, w, seed);
    for (int i = 0; i < deck.count; i++) {
        play(w, deck.card[i]);
        nothing_is_left(w);
    }
    finish(w);
}

/* Program number p of those with 4 sends of two sources, 3 receives, 2 tags,
 * all wildcards. False: there are no more. */
static bool program(struct world *w, unsigned p)
{
    memset(w, 0, sizeof(*w));
    for (int i = 0; i < 4; i++, p /= 4)
        add_send(w, (int)(p & 1), (int)(p >> 1 & 1));
    for (int i = 0; i < 3; i++, p /= 9) {
        static const int source[] = {0, 1, MGDS_ANY_SOURCE};
        static const int tag[] = {0, 1, MGDS_ANY_TAG};

        add_recv(w, source[p % 3], tag[p / 3 % 3]);
    }
    return p == 0;
}

static bool has_any_source(const struct world *w)
{
    for (int i = 0; i < w->recvs; i++)
        if (w->call[i].recv.source == MGDS_ANY_SOURCE)
            return true;
    return false;
}

static void same_result(const struct world *a, const struct world *b)
{
    for (int i = 0; i < a->sends; i++)
        assert_int_equal(a->msg[i].recv, b->msg[i].recv);
}

static void every_small_program_follows_the_rule(void **state)
{
    unsigned seed = 1, programs = 0;
    struct world first, w;

    (void)state;
    for (unsigned p = 0; program(&first, p); p++) {
        run(&first, &seed);
        for (int i = 0; i < 3; i++) {
            program(&w, p);
            run(&w, &seed);
            if (!has_any_source(&w))
                same_result(&first, &w);
        }
        programs++;
    }
    assert_int_equal(programs, 256 * 729);
}

static int either(int any, int many, unsigned *seed)
{
    int pick = rand_r(seed) % (many + 1);

    return pick == many ? any : pick;
}

/* A random one of that many sends and as many receives. */
static void draw(struct world *w, int count, int sources, int tags,
                 unsigned *seed)
{
    memset(w, 0, sizeof(*w));
    for (int k = 0; k < count; k++)
        add_send(w, rand_r(seed) % sources, rand_r(seed) % tags);
    for (int k = 0; k < count; k++)
        add_recv(w, either(MGDS_ANY_SOURCE, sources, seed),
                 either(MGDS_ANY_TAG, tags, seed));
}

static void random_programs_follow_the_rule(void **state)
{
    unsigned seed = 7;
    struct world w;

    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(PROGRAMS); i++) {
        draw(&w, FEW, FEW_SOURCES, FEW_TAGS, &seed);
        run(&w, &seed);
    }
}

static void cancel(struct world *w, int r)
{
    bool posted = w->call[r].fate == THERE;

    if (posted)
        w->call[r].fate = GONE;
    assert_int_equal(mgds_match_cancel(w->match, &w->call[r].recv), posted);
}

/* Would a receive called now with these get it, reached? */
static bool is_offered(const struct world *w, int m, int source, int tag)
{
    const struct call call = {.recv = {.source = source, .tag = tag},
                              .fate = THERE};
    const struct msg *msg = &w->msg[m];

    if (msg->fate != THERE || !msg->send.reached || !is_known(w, m) ||
        !accepts(&call, msg))
        return false;
    for (int i = 0; i < w->posts; i++)
        if (w->call[i].fate == THERE && accepts(&w->call[i], msg))
            return false;
    for (int i = 0; i < w->sends; i++)
        if (w->msg[i].send.source == msg->send.source &&
            w->msg[i].send.number < msg->send.number &&
            w->msg[i].fate == THERE && accepts(&call, &w->msg[i]))
            return false;
    return true;
}

/* Half of what is found is taken, as by MPI_Mprobe. */
static void probe(struct world *w, unsigned *seed)
{
    int source = either(MGDS_ANY_SOURCE, FEW_SOURCES, seed);
    int tag = either(MGDS_ANY_TAG, FEW_TAGS, seed);
    struct mgds_match_send *send = mgds_match_probe(w->match, source, tag);
    struct msg *msg = (struct msg *)(void *)send;
    bool any = false;

    for (int m = 0; m < w->sends; m++)
        any |= is_offered(w, m, source, tag);
    assert_int_equal(send != NULL, any);
    if (!send)
        return;
    assert_true(is_offered(w, (int)(msg - w->msg), source, tag));
    if (rand_r(seed) % 2) {
        msg->fate = GONE;
        mgds_match_take(w->match, send);
    }
}

/* If it is there for receives. */
static void withdraw(struct world *w, int m)
{
    if (w->msg[m].fate != THERE || !is_known(w, m))
        return;
    w->msg[m].fate = GONE;
    mgds_match_withdraw(w->match, &w->msg[m].send);
}

/* Whatever else may happen between two events of a program. */
static void disturb(struct world *w, unsigned *seed)
{
    if (w->posts > 0 && rand_r(seed) % 4 == 0)
        cancel(w, rand_r(seed) % w->posts);
    if (rand_r(seed) % 8 == 0)
        withdraw(w, rand_r(seed) % w->sends);
}

static void cancels_and_probes_leave_nothing_behind(void **state)
{
    unsigned seed = 11;
    struct deck deck;
    struct world w;

    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(PROGRAMS); i++) {
        draw(&w, FEW, FEW_SOURCES, FEW_TAGS, &seed);
        create(&w);
        shuffle(&deck, &w, &seed);
        for (int k = 0; k < deck.count; k++) {
            play(&w, deck.card[k]);
            nothing_is_left(&w);
            disturb(&w, &seed);
            nothing_is_left(&w);
            probe(&w, &seed);
            nothing_is_left(&w);
        }
        finish(&w);
    }
}

static void large_programs_follow_the_rule(void **state)
{
    unsigned seed = 13;
    struct deck deck;
    struct world w;

    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(LARGE); i++) {
        draw(&w, SENDS, SOURCES, TAGS, &seed);
        create(&w);
        shuffle(&deck, &w, &seed);
        for (int k = 0; k < deck.count; k++) {
            play(&w, deck.card[k]);
            disturb(&w, &seed);
            if (k % RARELY == 0)
                nothing_is_left(&w);
        }
        nothing_is_left(&w);
        finish(&w);
    }
}

/* A record that was given back is the owner's: nobody looks at it again. */
static void take_back_send(void *owner, struct mgds_match_send *send)
{
    struct msg *msg = (struct msg *)(void *)send;

    (void)owner;
    assert_true(msg->fate == THERE);
    memset(msg, 0xff, sizeof(*msg));
    msg->fate = GONE;
}

static void take_back_recv(void *owner, struct mgds_match_recv *recv)
{
    struct call *call = (struct call *)(void *)recv;

    (void)owner;
    assert_true(call->fate == THERE);
    memset(call, 0xff, sizeof(*call));
    call->fate = GONE;
}

/* A communicator ends at any point: each record that is in comes back once. */
static void an_end_gives_everything_back(void **state)
{
    unsigned seed = 17;
    struct deck deck;
    struct world w;

    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(PROGRAMS); i++) {
        draw(&w, FEW, FEW_SOURCES, FEW_TAGS, &seed);
        create(&w);
        shuffle(&deck, &w, &seed);
        for (int k = deck.count > 0 ? rand_r(&seed) % deck.count : 0; k > 0;
             k--)
            play(&w, deck.card[k]);
        mgds_match_clear(w.match, take_back_send, take_back_recv);
        for (int m = 0; m < w.sends; m++)
            assert_false(w.msg[m].fate == THERE);
        for (int r = 0; r < w.recvs; r++)
            assert_false(w.call[r].fate == THERE);
        finish(&w);
    }
}

/* A probe sees what a receive called now would get. */
static void a_probe_says_what_a_receive_gets(void **state)
{
    struct world w = {0};
    int a = add_send(&w, 0, 1), b = add_send(&w, 1, 1);

    (void)state;
    add_recv(&w, MGDS_ANY_SOURCE, 1);
    add_recv(&w, 1, 1);
    create(&w);
    arrive(&w, a);
    arrive(&w, b);
    assert_null(mgds_match_probe(w.match, 0, 1)); /* not reached */
    reach(&w, b);
    assert_ptr_equal(mgds_match_probe(w.match, MGDS_ANY_SOURCE, 1),
                     &w.msg[b].send);
    post(&w); /* takes b */
    assert_int_equal(w.msg[b].recv, 0);
    reach(&w, a);
    assert_ptr_equal(mgds_match_probe(w.match, 0, MGDS_ANY_TAG),
                     &w.msg[a].send);
    assert_null(mgds_match_probe(w.match, 0, 2));
    assert_null(mgds_match_probe(w.match, 1, 1));
    finish(&w);
}

/* A receive from any source, posted first, holds back later ones that would
 * take its message; when it has one they go on. */
static void a_wildcard_holds_back_what_comes_after_it(void **state)
{
    struct world w = {0};
    int a = add_send(&w, 0, 1), b = add_send(&w, 0, 1), c = add_send(&w, 2, 1);

    (void)state;
    add_recv(&w, MGDS_ANY_SOURCE, 1);
    add_recv(&w, 0, 1);
    create(&w);
    post(&w);
    post(&w);
    arrive(&w, a);
    arrive(&w, b);
    arrive(&w, c);
    assert_int_equal(w.msg[a].fate, THERE);
    reach(&w, c);
    assert_int_equal(w.msg[c].recv, 0);
    assert_int_equal(w.msg[a].recv, 1);
    assert_int_equal(w.msg[b].fate, THERE);
    finish(&w);
}

static void bad_envelopes_are_refused(void **state)
{
    struct world w = {0};
    struct mgds_match_send bad = {.source = SOURCES};
    int a = add_send(&w, 0, 1), b = add_send(&w, 0, 1);

    (void)state;
    create(&w);
    assert_int_equal(mgds_match_arrive(w.match, &bad), -EPROTO);
    bad.source = -1;
    assert_int_equal(mgds_match_arrive(w.match, &bad), -EPROTO);
    bad = (struct mgds_match_send){.source = 0, .tag = MGDS_ANY_TAG};
    assert_int_equal(mgds_match_arrive(w.match, &bad), -EPROTO);
    arrive(&w, b); /* ahead of a */
    bad = w.msg[b].send;
    assert_int_equal(mgds_match_arrive(w.match, &bad), -EPROTO);
    arrive(&w, a);
    bad = w.msg[a].send;
    assert_int_equal(mgds_match_arrive(w.match, &bad), -EPROTO);
    assert_false(mgds_match_reached(w.match, 0, 2)); /* not here yet */
    assert_int_equal(mgds_match_waiting(w.match), 2);
    finish(&w);
}

static void a_message_is_coming_waiting_or_gone(void **state)
{
    struct world w = {0};
    int a = add_send(&w, 0, 1), b = add_send(&w, 0, 2);
    struct mgds_match_send *send = NULL;

    (void)state;
    create(&w);
    arrive(&w, b);
    assert_int_equal(mgds_match_look(w.match, 0, 1, &send), MGDS_MATCH_COMING);
    arrive(&w, a);
    assert_int_equal(mgds_match_look(w.match, 0, 1, &send), MGDS_MATCH_WAITING);
    assert_ptr_equal(send, &w.msg[b].send);
    add_recv(&w, 0, 2);
    post(&w);
    assert_int_equal(mgds_match_look(w.match, 0, 1, &send), MGDS_MATCH_GONE);
    assert_int_equal(mgds_match_look(w.match, 0, 2, &send), MGDS_MATCH_COMING);
    finish(&w);
}

/* A receive from any source was held back by it. */
static void what_is_withdrawn_holds_nothing_back(void **state)
{
    struct world w = {0};
    int a = add_send(&w, 0, 1), b = add_send(&w, 0, 1);
    int r = add_recv(&w, MGDS_ANY_SOURCE, 1);

    (void)state;
    create(&w);
    arrive(&w, a);
    arrive(&w, b);
    reach(&w, b);
    post(&w);
    assert_int_equal(w.call[r].fate, THERE);
    w.msg[a].fate = GONE;
    mgds_match_withdraw(w.match, &w.msg[a].send);
    assert_int_equal(w.call[r].send, b);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_program_follows_the_rule),
        cmocka_unit_test(random_programs_follow_the_rule),
        cmocka_unit_test(cancels_and_probes_leave_nothing_behind),
        cmocka_unit_test(large_programs_follow_the_rule),
        cmocka_unit_test(an_end_gives_everything_back),
        cmocka_unit_test(a_probe_says_what_a_receive_gets),
        cmocka_unit_test(a_wildcard_holds_back_what_comes_after_it),
        cmocka_unit_test(bad_envelopes_are_refused),
        cmocka_unit_test(a_message_is_coming_waiting_or_gone),
        cmocka_unit_test(what_is_withdrawn_holds_nothing_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
