/*
 * D8, a known defect: how many records the matcher looks at for a message, when
 * many wait. A case says so in a line and fails if they are more than a few.
 *
 *   d8_match mcost | mcost2 | unexp
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/gds/match/match.h"

/* Messages of a case, and the most records that each may cost. */
enum { MANY = 1000, MOST = 16 };

static struct mgds_match *match;
static struct mgds_match_send sends[2 * MANY];
static struct mgds_match_recv recvs[MANY];
static unsigned pairs;

static void paired(void *owner, struct mgds_match_recv *recv,
                   struct mgds_match_send *send)
{
    (void)owner;
    (void)recv;
    (void)send;
    pairs++;
}

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    printf("does not hold: %s\n", what);
    abort();
}

static void arrive(unsigned i, int source, uint64_t number, int tag,
                   bool reached)
{
    sends[i] = (struct mgds_match_send){
        .number = number, .source = source, .tag = tag, .reached = reached};
    expect(mgds_match_arrive(match, &sends[i]) == 0, "it arrives");
}

static void post(unsigned i, int tag)
{
    recvs[i] = (struct mgds_match_recv){.source = MGDS_ANY_SOURCE, .tag = tag};
    mgds_match_post(match, &recvs[i]);
}

/* Messages that nobody wants wait, and receives from any source for others,
 * which come then. */
static void mcost(void)
{
    for (unsigned i = 0; i < MANY; i++)
        arrive(i, 0, i, 1, true);
    for (unsigned i = 0; i < MANY; i++)
        post(i, 2 + (int)i);
    for (unsigned i = 0; i < MANY; i++)
        arrive(MANY + i, 1, i, 2 + (int)i, true);
    expect(pairs == MANY, "all are paired");
}

/* Messages that wait are told to be reached, the last one first. */
static void mcost2(void)
{
    for (unsigned i = 0; i < MANY; i++)
        arrive(i, 0, i, 1, false);
    for (unsigned i = MANY; i-- > 0;)
        expect(mgds_match_reached(match, 0, i), "it is known");
}

/* Messages with some tags wait, are reached one after the other, and are then
 * received from any source. */
static void unexp(void)
{
    for (unsigned i = 0; i < MANY; i++)
        arrive(i, 0, i, (int)(i & 7), false);
    for (unsigned i = 0; i < MANY; i++)
        expect(mgds_match_reached(match, 0, i), "it is known");
    for (unsigned i = 0; i < MANY; i++)
        post(i, (int)(i & 7));
    expect(pairs == MANY, "all are paired");
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"mcost", mcost}, {"mcost2", mcost2}, {"unexp", unexp}};

static int run(const char *name, void (*body)(void))
{
    unsigned each;

    expect(mgds_match_create(&match, 2, paired, NULL) == 0, "it is made");
    body();
    each = (unsigned)(mgds_match_steps(match) / MANY);
    mgds_match_clear(match, NULL, NULL);
    mgds_match_destroy(match);
    if (each <= MOST)
        return 0;
    printf("known defect: D8: %s: %u records are looked at for a message of "
           "%d\n",
           name, each, MANY);
    return 1;
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0)
            return run(cases[i].name, cases[i].run);
    fprintf(stderr, "usage: %s mcost | mcost2 | unexp\n", argv[0]);
    return 2;
}
