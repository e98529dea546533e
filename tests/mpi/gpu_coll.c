/*
 * Collectives on GPU memory: each on host memory first, then again with its
 * buffers, or some of them, or those of some ranks, in GPU memory: every byte
 * of both buffers must come out the same, those that no call may touch too.
 *
 * gpu_coll STRIDE PHASE makes every STRIDEth case from PHASE on; gpu_coll pairs
 * and gpu_coll triples as many as hold each pair, or triple, of values.
 */
#include "tests/mpi/gpu_coll.h"

#include <stdint.h>
#include <string.h>

#include "tests/lib/gpu.h"
#include "tests/lib/mpi_check.h"

enum { CAPACITY = 4 << 20, GUARD = 64, GUARDS = 2 * GUARD, SKIPPED = 77 };

enum type { INT, VECTOR, IRREGULAR, PAIR, TYPES };

/* Where the send and the receive buffer are; BY_PARITY: on the GPU for even
   ranks only, ODD: for odd ranks only. */
enum place { ON_GPU, FROM_HOST, TO_HOST, EVEN_RANKS, ODD_RANKS, PLACES };

/* Factors of a case. */
enum { COLLECTIVE, TOPOLOGY, TYPE, IN_PLACE, COUNT, PLACE, FORM };

struct test {
    const struct collective *collective;
    enum topology topology;
    enum type type;
    int count, count_index;
    bool in_place;
    size_t bytes; /* of each buffer, guards not counted */
};

struct pair {
    char *send, *recv;
};

static MPI_Datatype types[TYPES];
static MPI_Op user_op;
static struct pair fresh, wanted, got;
static struct mgds_test_memory gpu_send, gpu_recv;
static void *garbage; /* GPU memory that was freed, or nothing at all */
static int strength;  /* 0: by stride and phase */
static unsigned stride = 1, phase, numbered, ran, broken_below;

static const int irregular_length[] = {1, 2, 1, 3, 1};
static const int irregular_displ[] = {0, 2, 5, 7, 12};
/* Mostly gap, which must not be left out: coll_stage.h says why. */
enum { IRREGULAR_BLOCKS = 5, IRREGULAR_INTS = 40, VECTOR_INTS = 3 };

static void add_irregular(const uint32_t *in, uint32_t *inout)
{
    for (int block = 0; block < IRREGULAR_BLOCKS; block++)
        for (int i = 0; i < irregular_length[block]; i++)
            inout[irregular_displ[block] + i] += in[irregular_displ[block] + i];
}

/* Adds the integers of derived types; called by the MPI library. */
static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const uint32_t *a = in;
    uint32_t *b = inout;

    for (int i = 0; i < *length; i++) {
        if (*type == types[VECTOR]) {
            b[0] += a[0];
            b[2] += a[2];
            a += VECTOR_INTS;
            b += VECTOR_INTS;
        } else {
            CHECK(*type == types[IRREGULAR]);
            add_irregular(a, b);
            a += IRREGULAR_INTS;
            b += IRREGULAR_INTS;
        }
    }
}

static void make_types(void)
{
    MPI_Datatype bare;

    types[INT] = MPI_INT;
    types[PAIR] = MPI_SHORT_INT;
    MPI_Type_vector(2, 1, 2, MPI_INT, &types[VECTOR]);
    MPI_Type_commit(&types[VECTOR]);
    MPI_Type_indexed(IRREGULAR_BLOCKS, irregular_length, irregular_displ,
                     MPI_INT, &bare);
    MPI_Type_create_resized(bare, 0, (MPI_Aint)(IRREGULAR_INTS * sizeof(int)),
                            &types[IRREGULAR]);
    MPI_Type_commit(&types[IRREGULAR]);
    MPI_Type_free(&bare);
    MPI_Op_create(add, 1, &user_op);
}

static MPI_Op op_of(enum type type)
{
    if (type == INT)
        return MPI_SUM;
    return type == PAIR ? MPI_MAXLOC : user_op;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

static void fill(char *at, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at[i] = (char)(seed >> 56);
    }
}

/* Arguments. */

static int count_for(const struct test *test, int rank, int peer)
{
    if (peer == MPI_PROC_NULL || test->collective->counting == EVEN)
        return test->count;
    if (test->collective->counting == BY_RANK)
        return test->count * ((peer + 1) % 3);
    return test->count * ((rank + peer) % 3);
}

/* Blocks that are far apart go another way than such that are not. */
static int space_of(const struct test *test)
{
    return test->count % 2 ? 1 : 8 * test->count + 1;
}

static void set_block(struct list *list, int i, int count, MPI_Aint displ,
                      MPI_Datatype type)
{
    list->count[i] = count;
    list->count_c[i] = count;
    list->displ[i] = (int)displ;
    list->displ_c[i] = displ;
    list->type[i] = type;
}

static void set_lists(struct list *plain, struct list *typed,
                      const struct test *test, const struct world *world,
                      const int *peers)
{
    MPI_Datatype type = types[test->type];
    /* MPICH 4.0.2 puts the only block of an Allgatherv at 0 in any case. */
    MPI_Aint extent = extent_of(type), at = world->peers > 1;

    for (int i = 0; i < world->peers; i++) {
        int count = count_for(test, world->rank, peers[i]);
        bool odd = (world->rank + peers[i]) % 2 != 0;

        set_block(plain, i, count, at, type);
        set_block(typed, i, count, at * extent, odd ? type : MPI_INT);
        at += count + space_of(test);
    }
    CHECK((size_t)(at * extent) <= test->bytes);
}

/* MPICH 4.0.2's Reduce in place crashes, on host memory, with three ranks and a
   root other than 0. */
static int pick_root(const struct test *test, const struct world *world)
{
    return test->in_place && test->collective->reduces
               ? 0
               : (int)(numbered % (unsigned)world->size);
}

static void set_root(struct args *args, const struct test *test,
                     struct world *world)
{
    if (world == &worlds[WORLD]) {
        world->root = pick_root(test, world);
        world->is_root = world->rank == world->root;
        world->is_leaf = true;
    }
    args->root = world->root;
}

static void set_args(struct args *args, const struct test *test,
                     struct world *world)
{
    memset(args, 0, sizeof(*args));
    args->type = types[test->type];
    args->op = op_of(test->type);
    args->comm = world->comm;
    args->count = test->count;
    if (test->collective->counting == BY_RANK)
        args->count = test->count * ((world->rank + 1) % 3);
    set_lists(&args->sends, &args->sends_w, test, world, world->out);
    set_lists(&args->recvs, &args->recvs_w, test, world, world->in);
    set_root(args, test, world);
}

/* Which addresses the call gets instead of buffers. */
static void set_special(struct args *args, const struct test *test,
                        const struct world *world)
{
    enum idle idle = test->collective->idle;
    bool scatters = idle == SEND_IDLE;

    if (test->in_place && (idle == NONE_IDLE || world->is_root))
        *(scatters ? &args->recv : &args->send) = MPI_IN_PLACE;
    if (idle == RECV_IDLE && !world->is_root)
        args->recv = garbage;
    if (idle == SEND_IDLE && !world->is_root)
        args->send = garbage;
    if (idle == RECV_IDLE && !world->is_leaf)
        args->send = garbage;
    if (idle == SEND_IDLE && !world->is_leaf)
        args->recv = garbage;
}

/* Running and comparing. */

static bool is_persistent(enum form form)
{
    return form == PERSISTENT || form == LARGE_PERSISTENT;
}

static bool has_request(enum form form)
{
    return form != BLOCKING && form != LARGE;
}

static void complete(enum form form, MPI_Request *request)
{
    int flag = 0;

    if (form < LARGE)
        CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    while (form > LARGE && !flag)
        CHECK(MPI_Test(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_persistent(form) || *request == MPI_REQUEST_NULL);
}

static void run(const struct test *test, enum form form,
                const struct args *args, const struct world *world)
{
    struct args copy = *args;
    MPI_Request request = MPI_REQUEST_NULL;

    set_special(&copy, test, world);
    CHECK(test->collective->call(form, &copy, &request) == MPI_SUCCESS);
    if (is_persistent(form))
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
    if (has_request(form))
        complete(form, &request);
    if (is_persistent(form))
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

static void run_on_host(const struct test *test, enum form form,
                        const struct pair *pair, struct args *args,
                        const struct world *world)
{
    size_t all = test->bytes + GUARDS;

    memcpy(pair->send, fresh.send, all);
    memcpy(pair->recv, fresh.recv, all);
    args->send = pair->send + GUARD;
    args->recv = pair->recv + GUARD;
    run(test, form, args, world);
}

static void report(const struct test *test, enum place place, enum form form,
                   const char *buffer, size_t at)
{
    static const char *const forms[FORMS] = {
        "blocking", "nonblocking",       "persistent",
        "large",    "large nonblocking", "large persistent"};

    fprintf(stderr,
            "case %u: MPI_%s, %s, topology %d, type %d, count %d, in place %d, "
            "placement %d, world rank %d of %d, root %d: %s buffer differs "
            "at %ld of %zu\n",
            numbered, test->collective->name, forms[form], test->topology,
            test->type, test->count, test->in_place, place, worlds[WORLD].rank,
            worlds[WORLD].size, worlds[test->topology].root, buffer,
            (long)at - GUARD, test->bytes);
    abort();
}

/* The padding of a pair, which an operation on host memory may touch. */
static bool is_padding(const struct test *test, size_t at)
{
    return test->type == PAIR && (at - GUARD) % 8 / 2 == 1;
}

/* Where they differ, or -1. */
static long differ(const struct test *test, const char *is, const char *want,
                   const char *was)
{
    size_t all = test->bytes + GUARDS;

    if (test->type != PAIR && memcmp(is, want, all) == 0)
        return -1;
    for (size_t i = 0; i < all; i++)
        if (is[i] != (is_padding(test, i) ? was : want)[i])
            return (long)i;
    return -1;
}

static void load(struct mgds_test_memory *gpu, char *host, const char *from,
                 size_t bytes, bool on_gpu)
{
    if (on_gpu)
        mgds_test_memory_write(gpu, from, bytes);
    else
        memcpy(host, from, bytes);
}

static void run_placed(const struct test *test, enum place place,
                       enum form form, struct args *args,
                       const struct world *world)
{
    size_t all = test->bytes + GUARDS;
    bool even = worlds[WORLD].rank % 2 == 0;
    bool here = place == EVEN_RANKS ? even : place != ODD_RANKS || !even;
    bool send_gpu = here && place != FROM_HOST;
    bool recv_gpu = here && place != TO_HOST;
    long at;

    load(&gpu_send, got.send, fresh.send, all, send_gpu);
    load(&gpu_recv, got.recv, fresh.recv, all, recv_gpu);
    args->send = (send_gpu ? gpu_send.at : got.send) + GUARD;
    args->recv = (recv_gpu ? gpu_recv.at : got.recv) + GUARD;
    run(test, form, args, world);
    if (send_gpu)
        mgds_test_memory_read(&gpu_send, got.send, all);
    if (recv_gpu)
        mgds_test_memory_read(&gpu_recv, got.recv, all);
    at = differ(test, got.send, wanted.send, fresh.send);
    if (at >= 0)
        report(test, place, form, "send", (size_t)at);
    at = differ(test, got.recv, wanted.recv, fresh.recv);
    if (at >= 0)
        report(test, place, form, "receive", (size_t)at);
}

/*
 * Does the MPI library itself get this form wrong, on host memory, on any rank?
 * MPICH 4.0.2 does: nonblocking Alltoallw in place with gaps, nonblocking Bcast
 * from another group's rank but 0. And each start of its persistent collectives
 * drops references to the datatype and the communicator: so one start here, and
 * none with datatypes that can go.
 */
static bool is_broken_below(const struct test *test, enum form form,
                            struct args *args, const struct world *world)
{
    int broken;

    if (!has_request(form))
        return false;
    if (is_persistent(form) && test->type != INT && test->type != PAIR)
        return true;
    run_on_host(test, form, &got, args, world);
    broken = differ(test, got.send, wanted.send, got.send) >= 0 ||
             differ(test, got.recv, wanted.recv, got.recv) >= 0;
    MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return broken;
}

static bool is_due(const int *values)
{
    bool due = numbered++ % stride == phase;

    return strength > 0 ? cover_is_new(values, strength) : due;
}

/* What is known of a test, when its first case is due. */
struct known {
    bool wanted;                     /* what must come out */
    bool form[FORMS], broken[FORMS]; /* asked; broken below */
};

static void run_on_host_once(struct test *test, struct args *args,
                             struct world *world, struct known *known)
{
    unsigned seed = numbered * 1000u + (unsigned)worlds[WORLD].rank;

    if (known->wanted)
        return;
    known->wanted = true;
    set_args(args, test, world);
    fill(fresh.send, test->bytes + GUARDS, seed);
    fill(fresh.recv, test->bytes + GUARDS, seed + 500u);
    run_on_host(test, BLOCKING, &wanted, args, world);
}

static void run_form(const struct test *test, const int *values,
                     struct args *args, const struct world *world,
                     struct known *known)
{
    enum place place = (enum place)values[PLACE];
    enum form form = (enum form)values[FORM];

    if (!known->form[form])
        known->broken[form] = is_broken_below(test, form, args, world);
    known->form[form] = true;
    if (known->broken[form]) {
        broken_below++;
        return;
    }
    if (strength > 0)
        cover_mark(values, strength);
    run_placed(test, place, form, args, world);
    ran++;
}

static void run_test(struct test *test)
{
    struct world *world = &worlds[test->topology];
    size_t blocks = (size_t)world->size + (size_t)world->peers;
    int values[COVER_FACTORS] = {
        [COLLECTIVE] = (int)(test->collective - collectives),
        [TOPOLOGY] = (int)test->topology,
        [TYPE] = (int)test->type,
        [IN_PLACE] = test->in_place,
        [COUNT] = test->count_index,
    };
    struct args args;
    struct known known = {0};

    test->bytes = (size_t)extent_of(types[test->type]) *
                  (blocks * (size_t)(2 * test->count + space_of(test)) + 1);
    CHECK(test->bytes + GUARDS <= CAPACITY);
    for (values[PLACE] = 0; values[PLACE] < PLACES; values[PLACE]++)
        for (values[FORM] = 0; values[FORM] < FORMS; values[FORM]++)
            if (is_due(values)) {
                run_on_host_once(test, &args, world, &known);
                run_form(test, values, &args, world, &known);
            }
}

/* Which cases there are. */

static bool is_possible(const struct test *test)
{
    const struct collective *c = test->collective;
    const struct world *world = &worlds[test->topology];

    if (world->comm == MPI_COMM_NULL)
        return false;
    if (c->neighbours != (test->topology >= OPEN_GRID))
        return false;
    if (test->topology == INTER && (!c->inter || test->in_place))
        return false;
    /* Both groups must have as many elements in all. */
    if (test->topology == INTER && strncmp(c->name, "Reduce_sc", 9) == 0 &&
        worlds[WORLD].size % 2)
        return false;
    if (test->type == PAIR && !c->reduces)
        return false;
    return !test->in_place || c->in_place;
}

static void run_counts(struct test *test)
{
    static const int counts[] = {0, 1, 6, 513, 20001};
    enum { LONG = 4 };

    for (int i = 0; i <= LONG; i++) {
        test->count = counts[i];
        test->count_index = i;
        if (i < LONG || (test->type == INT && test->topology == WORLD))
            run_test(test);
    }
}

static void run_types(struct test *test)
{
    for (int type = 0; type < TYPES; type++)
        for (int in_place = 0; in_place < 2; in_place++) {
            test->type = (enum type)type;
            test->in_place = in_place;
            if (is_possible(test))
                run_counts(test);
        }
}

static void run_all(void)
{
    struct test test;

    for (int topology = 0; topology < TOPOLOGIES; topology++)
        for (int i = 0; i < collective_count; i++) {
            test.topology = (enum topology)topology;
            test.collective = &collectives[i];
            run_types(&test);
        }
}

static void alloc_pair(struct pair *pair)
{
    pair->send = malloc(CAPACITY);
    pair->recv = malloc(CAPACITY);
    CHECK(pair->send && pair->recv);
}

static void free_pair(struct pair *pair)
{
    free(pair->send);
    free(pair->recv);
}

static void alloc_buffers(void)
{
    struct mgds_test_memory freed;

    alloc_pair(&fresh);
    alloc_pair(&wanted);
    alloc_pair(&got);
    CHECK(!mgds_test_memory_alloc(&gpu_send, MGDS_TEST_DEVICE, CAPACITY));
    CHECK(!mgds_test_memory_alloc(&gpu_recv, MGDS_TEST_ASYNC, CAPACITY));
    CHECK(!mgds_test_memory_alloc(&freed, MGDS_TEST_DEVICE, 1 << 16));
    /* Known to the library as GPU memory, then freed. */
    MPI_Bcast(freed.at, 1, MPI_INT, 0, MPI_COMM_SELF);
    garbage = worlds[WORLD].rank % 2 ? (void *)16 : freed.at;
    mgds_test_memory_free(&freed);
}

static void free_buffers(void)
{
    free_pair(&fresh);
    free_pair(&wanted);
    free_pair(&got);
    mgds_test_memory_free(&gpu_send);
    mgds_test_memory_free(&gpu_recv);
}

static void choose(int argc, char **argv)
{
    if (argc == 3) {
        stride = (unsigned)strtoul(argv[1], NULL, 10);
        phase = (unsigned)strtoul(argv[2], NULL, 10);
    } else if (argc == 2) {
        strength = strcmp(argv[1], "triples") == 0 ? 3 : 2;
        CHECK(strength == 3 || strcmp(argv[1], "pairs") == 0);
    }
}

int main(int argc, char **argv)
{
    char why[256];

    MPI_Init(&argc, &argv);
    choose(argc, argv);
    make_worlds();
    if (mgds_test_gpu_open(worlds[WORLD].rank, why) < 0) {
        if (worlds[WORLD].rank == 0)
            printf("skipped: %s\n", why);
        free_worlds();
        MPI_Finalize();
        return SKIPPED;
    }
    make_types();
    alloc_buffers();
    run_all();
    MPI_Barrier(MPI_COMM_WORLD);
    if (worlds[WORLD].rank == 0)
        printf("gpu_coll: all well, %u of %u cases, %u passed over: the MPI "
               "library gets them wrong on host memory\n",
               ran, numbered, broken_below);
    free_buffers();
    MPI_Op_free(&user_op);
    MPI_Type_free(&types[VECTOR]);
    MPI_Type_free(&types[IRREGULAR]);
    free_worlds();
    MPI_Finalize();
    return 0;
}
