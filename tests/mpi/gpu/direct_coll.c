/*
 * Collectives inside a host that may go as direct copies, of which every member
 * must get what the MPI library would have given it: by argument,
 *   placed          memory of each placement at all members
 *   drawn           each member's memory is another in every call
 *   in_place, uneven, types, roots   the same, with what these words say
 *   mixed SEED [far]   all of that, and any collective after any, on one
 *                   communicator; every other rank is on another host
 *   communicators   reversed ranks, a single rank, two groups
 *   freed           communicators that are made and go
 *   wildcard        a receive that would match any message stands meanwhile
 *   nonblocking     blocking ones while others are under way
 *   threads         two threads with a communicator each
 *   errors          arguments that all members have wrong
 * Each byte of each buffer is looked at, those around the blocks as well, and
 * nothing keeps the members in step but the collectives.
 */
#include "tests/mpi/gpu/direct_coll.h"

#include <pthread.h>
#include <string.h>

#include "tests/lib/sanitized.h"

/* So many calls in a row have members vote five times. */
enum { LAPS = 20, LONG_LAPS = 9, TYPED_LAPS = 5, TAG = 5 };

static const int lengths[] = {1, 1000, 38400};
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths), LONGEST = LENGTHS - 1 };

static struct world worlds[WORLDS];
static struct bench *bench, *other;
static unsigned seed = 1;

/* Each call has a seed of its own, and so other contents and memory. */
static void repeat(struct bench *with, struct lap lap, int laps)
{
    for (int i = 0; i < laps; i++) {
        lap.seed++;
        lap_run(with, &lap);
    }
}

static struct world duplicate(const struct world *world)
{
    struct world copy = *world;

    MPI_Comm_dup(world->comm, &copy.comm);
    return copy;
}

/* Calls of one kind on a communicator that has seen no other. */
static void run_fresh(struct lap lap, const struct world *world, int laps)
{
    struct world fresh = duplicate(world);

    seed += 1000;
    lap.seed = seed;
    lap.world = &fresh;
    repeat(bench, lap, laps);
    MPI_Comm_free(&fresh.comm);
}

/* Each root in turn, again and again. */
static void run_roots(struct lap lap, const struct world *world)
{
    struct world fresh = duplicate(world);

    lap.world = &fresh;
    for (int i = 0; i < LAPS; i++) {
        lap.root = i % world->size;
        lap.seed = seed++;
        lap_run(bench, &lap);
    }
    MPI_Comm_free(&fresh.comm);
}

/* Long elements with holes take the software GPU long. */
static int laps_of(const struct lap *lap, int length)
{
    int laps = LAPS;

    if (length == LONGEST)
        laps = lap->options & TYPED ? TYPED_LAPS : LONG_LAPS;
    return (int)mgds_test_laps((unsigned)laps);
}

static void run_lengths(struct lap lap, const struct world *world)
{
    for (int i = 0; i < LENGTHS; i++) {
        lap.elements = lengths[i];
        run_fresh(lap, world, laps_of(&lap, i));
    }
}

/* Every collective that a communicator has. */
static void run_each(struct lap lap, const struct world *world,
                     void (*run)(struct lap, const struct world *))
{
    for (int i = 0; i < collective_count; i++) {
        lap.how = &collectives[i];
        if (fits(lap.how, world))
            run(lap, world);
    }
}

/* On the ranks of the job, and on all of their neighbourhoods. */
static void run_all(struct lap lap,
                    void (*run)(struct lap, const struct world *))
{
    for (int i = 0; i < WORLDS; i++)
        if (i == WORLD || worlds[i].neighbours)
            run_each(lap, &worlds[i], run);
}

static void placed(void)
{
    for (int i = 0; i < DRAWN; i++)
        run_all((struct lap){.placement = (enum placement)i}, run_lengths);
}

static void drawn(void)
{
    run_all((struct lap){.placement = DRAWN, .root = gpu_size - 1},
            run_lengths);
}

static void in_place(void)
{
    run_all((struct lap){.placement = DRAWN, .options = IN_PLACE}, run_lengths);
}

static void run_nothing(struct lap lap, const struct world *world)
{
    run_fresh(lap, world, LAPS);
}

static void uneven(void)
{
    static const unsigned options[] = {UNEVEN, GAPS, UNEVEN | GAPS | REVERSE,
                                       UNEVEN | GAPS | IN_PLACE};

    for (int i = 0; i < 4; i++) {
        struct lap lap = {.placement = DRAWN, .options = options[i]};

        run_all(lap, run_nothing);
        run_all(lap, run_lengths);
    }
}

static void types(void)
{
    static const unsigned options[] = {TYPED, TYPED | UNEVEN | GAPS,
                                       TYPED | IN_PLACE};

    for (int i = 0; i < 3; i++)
        run_all((struct lap){.placement = DRAWN, .options = options[i]},
                run_lengths);
}

static void roots(void)
{
    for (int i = 0; i < 4; i++)
        run_all((struct lap){.placement = DRAWN,
                             .elements = lengths[i % 2],
                             .options = i < 2 ? 0 : TYPED | IN_PLACE},
                run_roots);
}

/* A call of which all is drawn. */
static struct lap draw_lap(const struct world *world, unsigned with)
{
    static const int many[] = {0, 1, 2, 30, 500, 5000, 1, 900};
    struct lap lap = {.world = world, .seed = with, .placement = DRAWN};

    lap.elements = many[drawn_alike(with, 8)];
    lap.options = (unsigned)drawn_alike(with + 1000000, 32);
    lap.root = drawn_alike(with + 2000000, world->size);
    for (unsigned i = 3; !lap.how || !fits(lap.how, world); i++)
        lap.how =
            &collectives[drawn_alike(with + i * 1000000, collective_count)];
    return lap;
}

static void run_mixed(struct bench *with, const struct world *world, int laps,
                      unsigned first)
{
    for (int i = 0; i < laps; i++) {
        struct lap lap = draw_lap(world, first + (unsigned)i);

        lap_run(with, &lap);
    }
}

static void mixed(void)
{
    int laps = (int)mgds_test_laps(600);

    for (int i = 0; i < WORLDS; i++)
        if (worlds[i].comm != MPI_COMM_NULL)
            run_mixed(bench, &worlds[i], laps, seed + (unsigned)(i * laps));
}

static void communicators(void)
{
    static const unsigned options[] = {0, IN_PLACE, UNEVEN | GAPS | REVERSE,
                                       TYPED | UNEVEN};

    for (int i = REVERSED; i <= INTER; i++)
        for (int k = 0; k < 4; k++)
            run_each((struct lap){.placement = DRAWN, .options = options[k]},
                     &worlds[i], run_lengths);
}

static void leave(MPI_Comm *comm, bool disconnect)
{
    if (disconnect)
        MPI_Comm_disconnect(comm);
    else
        MPI_Comm_free(comm);
}

/* Every second communicator is made of one that has had collectives, and goes
 * on when that one is gone. */
static void come_and_go(int laps)
{
    for (int i = 0; i < laps; i++) {
        struct world fresh = duplicate(&worlds[i % 2 ? WORLD : RING]), second;

        run_mixed(bench, &fresh, 1 + i % 3, seed++);
        second = duplicate(&fresh);
        leave(&fresh.comm, i % 5 == 0);
        run_mixed(bench, &second, i % 4, seed++);
        leave(&second.comm, i % 7 == 0);
    }
}

/* MPICH has 2048 communicators at a time, and the crowd leaves too few of them
 * for any to be lost. */
static void freed(void)
{
    enum { CROWD = 1800, PASSING = 500 };
    static MPI_Comm crowd[CROWD];

    for (int i = 0; i < CROWD; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &crowd[i]);
    come_and_go(PASSING);
    for (int i = 0; i < CROWD; i++)
        MPI_Comm_free(&crowd[i]);
}

/* What the next one sends comes into the receive that stands all the while,
 * and nothing before. */
static void wildcard_on(const struct world *world,
                        struct mgds_test_memory *into)
{
    int previous = (world->rank + world->size - 1) % world->size;
    int done = 0, got = -1;
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(into->at, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world->comm,
              &request);
    seed += LAPS;
    run_mixed(bench, world, LAPS, seed);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    CHECK(!done);
    MPI_Barrier(world->comm);
    MPI_Send(&world->rank, 1, MPI_INT, previous, TAG, world->comm);
    MPI_Wait(&request, &status);
    mgds_test_memory_read(into, &got, sizeof(got));
    CHECK(status.MPI_TAG == TAG && got == status.MPI_SOURCE);
    CHECK(got == (world->rank + 1) % world->size);
}

static void wildcard(void)
{
    static const int on[] = {WORLD, TWICE, RING, GRAPH};
    struct mgds_test_memory into[2];

    for (int i = 0; i < 2; i++)
        CHECK(!mgds_test_memory_alloc(
            &into[i], i ? MGDS_TEST_DEVICE : MGDS_TEST_HOST, sizeof(int)));
    for (int i = 0; i < 24; i++) {
        struct world fresh = duplicate(&worlds[on[i % 4]]);

        wildcard_on(&fresh, &into[i / 4 % 2]);
        wildcard_on(&fresh, &into[i / 8 % 2]);
        MPI_Comm_free(&fresh.comm);
    }
    mgds_test_memory_free(&into[0]);
    mgds_test_memory_free(&into[1]);
}

/* MPICH 4.0.2's MPI_Ialltoallw gets gaps wrong in place. */
static void nonblocking_on(const struct world *world, int laps)
{
    for (int i = 0; i < laps; i++) {
        struct lap lap = draw_lap(world, seed++);
        MPI_Request request;

        lap.options &= ~(unsigned)IN_PLACE;
        CHECK(lap.how->call(lap_begin(other, &lap), &request) == MPI_SUCCESS);
        seed += 4;
        run_mixed(bench, world, 1 + i % 3, seed);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        lap_check(other);
    }
}

static void nonblocking(void)
{
    for (int i = 0; i < WORLDS; i++)
        if (worlds[i].comm != MPI_COMM_NULL)
            nonblocking_on(&worlds[i], (int)mgds_test_laps(120));
}

struct worker {
    pthread_t thread;
    struct bench *bench;
    struct world world;
    unsigned seed;
};

static void *work(void *arg)
{
    struct worker *worker = arg;

    run_mixed(worker->bench, &worker->world, (int)mgds_test_laps(150),
              worker->seed);
    return NULL;
}

static void threads_on(const struct world *one, const struct world *two)
{
    struct worker workers[] = {{.bench = bench, .seed = seed + 1000},
                               {.bench = other, .seed = seed + 2000}};

    seed += 2000;
    workers[0].world = duplicate(one);
    workers[1].world = duplicate(two);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    for (int i = 0; i < 2; i++) {
        CHECK(!pthread_join(workers[i].thread, NULL));
        MPI_Comm_free(&workers[i].world.comm);
    }
}

static void threads(void)
{
    threads_on(&worlds[WORLD], &worlds[WORLD]);
    threads_on(&worlds[WORLD], &worlds[REVERSED]);
    threads_on(&worlds[RING], &worlds[TWICE]);
}

/* What may be wrong with a call at all members; the class that comes of it. */
static int spoil_root(struct args *args)
{
    args->root = gpu_size + 3;
    return MPI_ERR_ROOT;
}

static void spoil_counts_of(struct part *part)
{
    part->count = -1;
    for (int i = 0; part->counts && i < BLOCKS; i++)
        part->counts[i] = -1;
}

static int spoil_counts(struct args *args)
{
    spoil_counts_of(&args->send);
    spoil_counts_of(&args->recv);
    return MPI_ERR_COUNT;
}

static void spoil_types_of(struct part *part)
{
    part->type = MPI_DATATYPE_NULL;
    for (int i = 0; part->types && i < BLOCKS; i++)
        part->types[i] = MPI_DATATYPE_NULL;
}

static int spoil_types(struct args *args)
{
    spoil_types_of(&args->send);
    spoil_types_of(&args->recv);
    return MPI_ERR_TYPE;
}

static void run_wrong(struct lap lap, int (*spoil)(struct args *))
{
    int class, code;
    struct args *args = lap_begin(bench, &lap);

    class = spoil(args);
    code = lap.how->call(args, NULL);
    if (code == MPI_SUCCESS || gpu_class(code) != class)
        fprintf(stderr, "MPI_%s: class %d instead of %d\n", lap.how->name,
                gpu_class(code), class);
    CHECK(code != MPI_SUCCESS && gpu_class(code) == class);
}

/* Right ones in between go on, on the same communicator. */
static void run_errors(struct lap lap, const struct world *world)
{
    struct world fresh = duplicate(world);

    MPI_Comm_set_errhandler(fresh.comm, MPI_ERRORS_RETURN);
    lap.world = &fresh;
    for (int i = 0; i < 6; i++) {
        seed += 10;
        lap.seed = seed;
        if (lap.how->rooted != NO_ROOT)
            run_wrong(lap, spoil_root);
        run_wrong(lap, spoil_counts);
        run_wrong(lap, spoil_types);
        repeat(bench, lap, i);
    }
    MPI_Comm_free(&fresh.comm);
}

static void errors(void)
{
    run_all((struct lap){.placement = DRAWN, .elements = 700}, run_errors);
    run_all((struct lap){.placement = ON_DEVICE, .elements = 700}, run_errors);
}

static const struct gpu_way ways[] = {{"placed", placed},
                                      {"drawn", drawn},
                                      {"in_place", in_place},
                                      {"uneven", uneven},
                                      {"types", types},
                                      {"roots", roots},
                                      {"mixed", mixed},
                                      {"communicators", communicators},
                                      {"freed", freed},
                                      {"wildcard", wildcard},
                                      {"nonblocking", nonblocking},
                                      {"threads", threads},
                                      {"errors", errors},
                                      {0}};

static void begin(int *argc, char ***argv)
{
    const char *rank = getenv("PMI_RANK");
    bool odd = rank && rank[0] % 2;
    bool many = *argc > 1 && strcmp((*argv)[1], "threads") == 0;

    if (*argc > 3)
        CHECK(!setenv("MPIX_SIM_HOST", odd ? "b" : "a", 1));
    gpu_begin_at(argc, argv, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    CHECK(*argc >= 2 && gpu_size <= BLOCKS);
    if (*argc > 2)
        seed = (unsigned)strtoul((*argv)[2], NULL, 10) * 100000;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    make_types();
    make_worlds(worlds);
    bench = bench_create();
    other = bench_create();
    gpu_run_way(ways, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_destroy(bench);
    bench_destroy(other);
    free_worlds(worlds);
    free_types();
    gpu_end("direct coll");
    return 0;
}
