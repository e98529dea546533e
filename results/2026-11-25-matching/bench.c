/*
 * Time of the matcher alone, without wire and streams: README.md says how it is
 * built and what came of it. Each case is run five times; the best and the
 * worst are printed, with the records looked at for a pair.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "shim/gds/match/match.h"

enum { RUNS = 5, UNEXPECTED = 65536, WAITING = 10000, WANTED = 1000, TAGS = 8 };

static struct mgds_match *match;
static struct mgds_match_send sends[UNEXPECTED];
static struct mgds_match_recv recvs[UNEXPECTED];
static long pairs;

static void paired(void *owner, struct mgds_match_recv *recv,
                   struct mgds_match_send *send)
{
    (void)owner;
    (void)recv;
    (void)send;
    pairs++;
}

/* Of this thread alone: other programs' time does not count. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void arrive(int i, int source, int number, int tag, bool reached)
{
    sends[i] = (struct mgds_match_send){.number = (uint64_t)number,
                                        .source = source,
                                        .tag = tag,
                                        .reached = reached};
    if (mgds_match_arrive(match, &sends[i]) < 0)
        abort();
}

static void post(int i, int source, int tag)
{
    recvs[i] = (struct mgds_match_recv){.source = source, .tag = tag};
    mgds_match_post(match, &recvs[i]);
}

/* 65,536 messages arrive, are told to be reached, and are received. */
static double unexpected(int source, bool any_tag)
{
    double start = now();

    for (int i = 0; i < UNEXPECTED; i++)
        arrive(i, 0, i, i % TAGS, false);
    for (int i = 0; i < UNEXPECTED; i++)
        mgds_match_reached(match, 0, (uint64_t)i);
    for (int i = 0; i < UNEXPECTED; i++)
        post(i, source, any_tag ? MGDS_ANY_TAG : i % TAGS);
    return now() - start;
}

static double by_source(void)
{
    return unexpected(0, false);
}

static double by_tag(void)
{
    return unexpected(MGDS_ANY_SOURCE, false);
}

static double by_nothing(void)
{
    return unexpected(MGDS_ANY_SOURCE, true);
}

/* 10,000 that nobody wants wait, beside 1,000 receives from any source; what
 * these want comes. */
static double beside(void)
{
    double start;

    for (int i = 0; i < WAITING; i++)
        arrive(i, 0, i, 1, true);
    for (int i = 0; i < WANTED; i++)
        post(i, MGDS_ANY_SOURCE, 2 + i);
    start = now();
    for (int i = 0; i < WANTED; i++)
        arrive(WAITING + i, 1, i, 2 + i, true);
    return now() - start;
}

static const struct {
    const char *name;
    double (*run)(void);
    long pairs;
} cases[] = {
    {"65,536 unexpected, told, received by source and tag", by_source,
     UNEXPECTED},
    {"65,536 unexpected, told, received from any source by tag", by_tag,
     UNEXPECTED},
    {"65,536 unexpected, told, received from any source with any tag",
     by_nothing, UNEXPECTED},
    {"10,000 waiting, 1,000 receives from any source", beside, WANTED},
};

int main(void)
{
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double best = 1e9, worst = 0, looks = 0;

        for (int run = 0; run < RUNS; run++) {
            double took;

            pairs = 0;
            if (mgds_match_create(&match, 2, paired, NULL) < 0)
                abort();
            took = cases[i].run();
            looks = (double)mgds_match_looks(match) / (double)pairs;
            best = took < best ? took : best;
            worst = took > worst ? took : worst;
            if (pairs != cases[i].pairs)
                abort();
            mgds_match_clear(match, NULL, NULL);
            mgds_match_destroy(match);
        }
        printf("%s: %.4f to %.4f s, %.2f to %.2f us and %.2f records a pair\n",
               cases[i].name, best, worst, 1e6 * best / (double)cases[i].pairs,
               1e6 * worst / (double)cases[i].pairs, looks);
    }
    return 0;
}
