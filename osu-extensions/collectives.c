/* What each collective sends, receives and calls. */
#include <string.h>

#include "osu-extensions/collective.h"
#include "osu-extensions/nccl.h"
#include "osu-extensions/pattern.h"
#include "osu-extensions/way.h"
#include "osu-extensions/way_nccl.h"

#define ROOT 0

/* Some of what a rank sends in an iteration, of the endless stream of bytes
 * that it sends in the batch. */
static void bytes_of(const struct mgds_bench_place *place, int rank,
                     size_t offset, char *out)
{
    const struct mgds_bench_batch *batch = place->batch;
    struct mgds_bench_pattern pattern = {
        .seed = mgds_bench_seed(batch->row, batch->number, (uint64_t)rank),
        .position = place->lap * batch->plan->send_step + offset};

    mgds_bench_pattern_fill(pattern, out, place->bytes);
}

/* Numbers whose sums are the same in any order and in any of the datatypes. */
static int number_of(const struct mgds_bench_place *place, int rank, size_t i)
{
    const struct mgds_bench_batch *batch = place->batch;
    uint64_t seed = mgds_bench_seed(batch->row, batch->number, (uint64_t)rank);

    return (int)(mgds_bench_seed(seed, place->lap, i) & 0xff);
}

static void number_put(enum mgds_bench_type type, int number, char *at)
{
    float real = (float)number;

    if (type == MGDS_BENCH_FLOAT)
        memcpy(at, &real, sizeof(real));
    else
        memcpy(at, &number, sizeof(number));
}

static size_t block_sent(const struct mgds_bench_place *place, char *out)
{
    bytes_of(place, place->rank, 0, out);
    return place->bytes;
}

static size_t numbers_sent(const struct mgds_bench_place *place, char *out)
{
    enum mgds_bench_type type = place->batch->plan->type;
    size_t unit = mgds_bench_type_size(type);

    for (size_t i = 0; i < place->bytes / unit; i++)
        number_put(type, number_of(place, place->rank, i), out + i * unit);
    return place->bytes;
}

static size_t sums_received(const struct mgds_bench_place *place, char *out)
{
    enum mgds_bench_type type = place->batch->plan->type;
    size_t unit = mgds_bench_type_size(type);

    for (size_t i = 0; i < place->bytes / unit; i++) {
        int sum = 0;

        for (int rank = 0; rank < place->ranks; rank++)
            sum += number_of(place, rank, i);
        number_put(type, sum, out + i * unit);
    }
    return place->bytes;
}

static void allreduce_mpi(const struct mgds_bench_lap *lap)
{
    MPI_Allreduce(lap->send, lap->recv, lap->count, lap->type, MPI_SUM,
                  lap->comm);
}

static void allreduce_nccl(const struct mgds_bench_lap *lap)
{
    int type =
        lap->type == MPI_INT ? MGDS_BENCH_NCCL_INT : MGDS_BENCH_NCCL_REAL;

    MGDS_BENCH_NCCL(ncclAllReduce(
        lap->send, lap->recv, (size_t)lap->count, type, MGDS_BENCH_NCCL_SUM,
        mgds_bench_nccl_comm(lap->lane), mgds_bench_nccl_stream(lap->lane)));
}

const struct mgds_bench_collective mgds_bench_allreduce = {
    numbers_sent, sums_received, allreduce_mpi, allreduce_nccl, true};

static size_t blocks_sent(const struct mgds_bench_place *place, char *out)
{
    for (int rank = 0; rank < place->ranks; rank++)
        bytes_of(place, place->rank, (size_t)rank * place->bytes,
                 out + (size_t)rank * place->bytes);
    return (size_t)place->ranks * place->bytes;
}

static size_t own_blocks_received(const struct mgds_bench_place *place,
                                  char *out)
{
    for (int rank = 0; rank < place->ranks; rank++)
        bytes_of(place, rank, (size_t)place->rank * place->bytes,
                 out + (size_t)rank * place->bytes);
    return (size_t)place->ranks * place->bytes;
}

static void alltoall_mpi(const struct mgds_bench_lap *lap)
{
    MPI_Alltoall(lap->send, lap->count, lap->type, lap->recv, lap->count,
                 lap->type, lap->comm);
}

/* As NCCL's own manual makes it, which had no call of that name before 2.28. */
static void alltoall_nccl(const struct mgds_bench_lap *lap)
{
    struct nccl_comm *comm = mgds_bench_nccl_comm(lap->lane);
    void *stream = mgds_bench_nccl_stream(lap->lane);
    int ranks;

    MPI_Comm_size(lap->comm, &ranks);
    MGDS_BENCH_NCCL(ncclGroupStart());
    for (int rank = 0; rank < ranks; rank++) {
        size_t at = (size_t)rank * lap->bytes;

        MGDS_BENCH_NCCL(ncclSend(lap->send + at, lap->bytes,
                                 MGDS_BENCH_NCCL_BYTES, rank, comm, stream));
        MGDS_BENCH_NCCL(ncclRecv(lap->recv + at, lap->bytes,
                                 MGDS_BENCH_NCCL_BYTES, rank, comm, stream));
    }
    MGDS_BENCH_NCCL(ncclGroupEnd());
}

const struct mgds_bench_collective mgds_bench_alltoall = {
    blocks_sent, own_blocks_received, alltoall_mpi, alltoall_nccl, false};

static size_t each_block_received(const struct mgds_bench_place *place,
                                  char *out)
{
    for (int rank = 0; rank < place->ranks; rank++)
        bytes_of(place, rank, 0, out + (size_t)rank * place->bytes);
    return (size_t)place->ranks * place->bytes;
}

static void allgather_mpi(const struct mgds_bench_lap *lap)
{
    MPI_Allgather(lap->send, lap->count, lap->type, lap->recv, lap->count,
                  lap->type, lap->comm);
}

static void allgather_nccl(const struct mgds_bench_lap *lap)
{
    MGDS_BENCH_NCCL(ncclAllGather(
        lap->send, lap->recv, lap->bytes, MGDS_BENCH_NCCL_BYTES,
        mgds_bench_nccl_comm(lap->lane), mgds_bench_nccl_stream(lap->lane)));
}

const struct mgds_bench_collective mgds_bench_allgather = {
    block_sent, each_block_received, allgather_mpi, allgather_nccl, false};

/* The root's buffer is the one that is sent from. */
static size_t root_block_received(const struct mgds_bench_place *place,
                                  char *out)
{
    if (place->rank == ROOT)
        return 0;
    bytes_of(place, ROOT, 0, out);
    return place->bytes;
}

static char *bcast_buffer(const struct mgds_bench_lap *lap)
{
    int rank;

    MPI_Comm_rank(lap->comm, &rank);
    return rank == ROOT ? lap->send : lap->recv;
}

static void bcast_mpi(const struct mgds_bench_lap *lap)
{
    MPI_Bcast(bcast_buffer(lap), lap->count, lap->type, ROOT, lap->comm);
}

static void bcast_nccl(const struct mgds_bench_lap *lap)
{
    char *buffer = bcast_buffer(lap);

    MGDS_BENCH_NCCL(ncclBroadcast(
        buffer, buffer, lap->bytes, MGDS_BENCH_NCCL_BYTES, ROOT,
        mgds_bench_nccl_comm(lap->lane), mgds_bench_nccl_stream(lap->lane)));
}

const struct mgds_bench_collective mgds_bench_bcast = {
    block_sent, root_block_received, bcast_mpi, bcast_nccl, false};

static int mpi_open(struct mgds_bench_lane **out,
                    const struct mgds_bench_site *site, char why[256])
{
    (void)site;
    (void)why;
    *out = NULL;
    return 0;
}

/* Its calls are those of the collective. */
static const struct mgds_bench_way way_mpi = {
    .name = "mpi", .title = "MPI", .open = mpi_open};

static const struct mgds_bench_way *const ways[] = {&way_mpi,
                                                    &mgds_bench_way_nccl, NULL};

/* Microseconds of an iteration. */
static double whole_of(const struct mgds_bench_shape *shape, double seconds)
{
    (void)shape;
    return seconds * 1e6;
}

int mgds_bench_collective_main(int argc, char **argv, const char *name,
                               const char *title,
                               const struct mgds_bench_collective *collective)
{
    const struct mgds_bench_program program = {
        .spec = {.name = name,
                 .title = title,
                 .letters = "hvmixMcudTIz",
                 .metric = MGDS_BENCH_LATENCY,
                 .counts = {1000, 200, 100, 10},
                 .collective = true,
                 .numbers = collective->numbers},
        .traffic = MGDS_BENCH_BOTH_SEND,
        .ways = ways,
        .collective = collective,
        .value = whole_of,
    };

    return mgds_bench_main(argc, argv, &program);
}
