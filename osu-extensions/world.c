/* Start and end of MPI, pairs of ranks, and memory for their messages. */
#include "osu-extensions/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/tracks.h"

static void session_open(struct mgds_bench_world *world)
{
    MPI_Group group;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world->session);
    MPI_Group_from_session_pset(world->session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "mpix-gds.osu-extensions", MPI_INFO_NULL,
                               MPI_ERRORS_ARE_FATAL, &world->comm);
    MPI_Group_free(&group);
}

void mgds_bench_world_init(struct mgds_bench_world *world, bool session,
                           int *argc, char ***argv)
{
    world->session = MPI_SESSION_NULL;
    world->comm = MPI_COMM_WORLD;
    if (session)
        session_open(world);
    else
        MPI_Init(argc, argv);
    MPI_Comm_rank(world->comm, &world->rank);
    MPI_Comm_size(world->comm, &world->ranks);
}

void mgds_bench_world_fini(struct mgds_bench_world *world)
{
    if (world->session == MPI_SESSION_NULL) {
        MPI_Finalize();
        return;
    }
    MPI_Comm_free(&world->comm);
    MPI_Session_finalize(&world->session);
}

int mgds_bench_world_role(const struct mgds_bench_world *world, int pairs)
{
    if (world->rank >= 2 * pairs)
        return -1;
    return world->rank >= pairs ? MGDS_BENCH_SECOND : MGDS_BENCH_FIRST;
}

enum mgds_bench_kind
mgds_bench_world_kind(const struct mgds_bench_world *world,
                      const struct mgds_bench_options *options, int pairs)
{
    return options
        ->kind[options->collective ? world->rank % 2
                                   : mgds_bench_world_role(world, pairs)];
}

int mgds_bench_world_local_rank(const struct mgds_bench_world *world)
{
    MPI_Comm node;
    int rank;

    MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

int mgds_bench_world_worst(const struct mgds_bench_world *world, int rc,
                           char why[256])
{
    int mine = rc < 0 ? world->rank : world->ranks;
    int worst;

    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MIN, world->comm);
    if (worst == world->ranks)
        return -1;
    MPI_Bcast(why, 256, MPI_CHAR, worst, world->comm);
    return worst;
}

static void roles_set(struct mgds_bench_end *end, int rank, int pairs)
{
    unsigned sends = end->program->traffic;
    bool second = rank >= pairs;

    end->rank = rank;
    end->pairs = pairs;
    end->role = second ? MGDS_BENCH_SECOND : MGDS_BENCH_FIRST;
    end->peer = second ? rank - pairs : rank + pairs;
    end->sends =
        sends & (second ? MGDS_BENCH_SECOND_SENDS : MGDS_BENCH_FIRST_SENDS);
    end->receives =
        sends & (second ? MGDS_BENCH_FIRST_SENDS : MGDS_BENCH_SECOND_SENDS);
}

static int buffers_init(struct mgds_bench_end *end,
                        const struct mgds_bench_memory *memory,
                        const struct mgds_bench_need *need)
{
    int rc = mgds_bench_buffer_init(&end->send, memory,
                                    end->sends ? need->send_bytes : 0);

    if (rc < 0)
        return rc;
    rc = mgds_bench_buffer_init(&end->recv, memory,
                                end->receives ? need->recv_bytes : 0);
    if (rc < 0)
        goto free_send;
    /* The host's own, but for streams, where all is of one kind. */
    if (!end->program->spec.enqueued)
        memory = mgds_bench_memory_find(MGDS_BENCH_HOST);
    rc = mgds_bench_buffer_init(&end->answer, memory,
                                need->laps * sizeof(uint64_t));
    if (rc < 0)
        goto free_recv;
    return 0;
free_recv:
    mgds_bench_buffer_fini(&end->recv);
free_send:
    mgds_bench_buffer_fini(&end->send);
    return rc;
}

/* How often the requests of an iteration stand side by side. */
static size_t batches_of(const struct mgds_bench_end *end,
                         const struct mgds_bench_need *need)
{
    return end->program->first_make ? need->laps : 1;
}

static int end_fill(struct mgds_bench_end *end,
                    const struct mgds_bench_memory *memory,
                    const struct mgds_bench_need *need)
{
    int rc = -ENOMEM;

    end->seconds = calloc(need->laps, sizeof(*end->seconds));
    end->requests = calloc(2 * need->messages * batches_of(end, need),
                           sizeof(*end->requests));
    end->statuses = calloc(2 * need->messages, sizeof(*end->statuses));
    end->samples = calloc(need->iterations, sizeof(*end->samples));
    if (end->seconds && end->requests && end->statuses && end->samples)
        rc = buffers_init(end, memory, need);
    if (rc == 0)
        return 0;
    free(end->samples);
    free(end->statuses);
    free(end->requests);
    free(end->seconds);
    return rc;
}

int mgds_bench_end_init(struct mgds_bench_end *end,
                        const struct mgds_bench_world *world,
                        const struct mgds_bench_program *program,
                        const struct mgds_bench_options *options,
                        const struct mgds_bench_need *need)
{
    int pairs = options->pairs > 0 ? options->pairs : world->ranks / 2;
    bool idle = mgds_bench_world_role(world, pairs) < 0;
    int worst;
    int rc = 0;

    memset(end, 0, sizeof(*end));
    end->program = program;
    end->synced = options->sync;
    roles_set(end, world->rank, pairs);
    if (!idle)
        rc = end_fill(end,
                      mgds_bench_memory_find(
                          mgds_bench_world_kind(world, options, pairs)),
                      need);
    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, world->comm);
    if (worst < 0)
        goto undo;
    MPI_Comm_split(world->comm, idle ? MPI_UNDEFINED : 0, world->rank,
                   &end->comm);
    if (idle)
        end->rank = -1;
    else if (program->spec.enqueued || options->rivals)
        rc = mgds_bench_tracks_open(end, options, need);
    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, world->comm);
    if (worst < 0)
        mgds_bench_end_fini(end);
    return worst;
undo:
    end->comm = MPI_COMM_NULL;
    if (rc == 0 && !idle)
        mgds_bench_end_fini(end);
    return worst;
}

void mgds_bench_end_fini(struct mgds_bench_end *end)
{
    if (end->rank < 0)
        return;
    mgds_bench_tracks_close(end);
    if (end->comm != MPI_COMM_NULL)
        MPI_Comm_free(&end->comm);
    mgds_bench_buffer_fini(&end->answer);
    mgds_bench_buffer_fini(&end->recv);
    mgds_bench_buffer_fini(&end->send);
    free(end->samples);
    free(end->statuses);
    free(end->requests);
    free(end->seconds);
}
