/*
 * matrix: runs cases (case.h) and says of each whether it held.
 *
 *   mpiexec.mpich -n 2 matrix [--file FILE] [CASE ...]
 *   matrix --list      every call, kind and datatype
 *
 * Rank 0 prints "begin CASE" and "ok CASE" or "FAILED CASE: rank R: why", one
 * line each, so that a run that ends early names its case. No driver is loaded
 * before a case needs a GPU. Exit status: 0 all held, 1 one did not, 2 bad
 * usage, 77 no GPU.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/matrix/case.h"

#define SKIPPED 77
#define NAME_MAX_BYTES 128

struct world {
    int rank;
    int ranks;
    int local; /* rank among those of this host */
    int gpu;   /* opened */
    int failed;
    MPI_Comm comm;
    void *attached;
};

static void list(void)
{
    for (size_t t = 0; mgds_mx_tables[t]; t++)
        for (const struct mgds_mx_call *c = mgds_mx_tables[t]; c->name; c++)
            printf("call %s\n", c->name);
    for (int i = 0; i < MGDS_TEST_KINDS; i++)
        printf("kind %s\n", mgds_test_kind_name((enum mgds_test_kind)i));
    for (int i = 0; i < MGDS_MX_TYPE_KINDS; i++)
        printf("type %s\n", mgds_mx_type_name((enum mgds_mx_type_kind)i));
}

static void local_rank_find(struct world *w)
{
    MPI_Comm node;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_rank(node, &w->local);
    MPI_Comm_free(&node);
}

/* Ends the job where it cannot go on; all ranks come here together. */
static void leave(struct world *w, int status, const char *why)
{
    if (w->rank == 0)
        printf("matrix: %s\n", why);
    fflush(stdout);
    MPI_Finalize();
    exit(status);
}

/* All ranks open their GPU before the first case that needs one. */
static void gpu_need(struct world *w, const struct mgds_mx_case *c)
{
    char why[256] = "another rank has no GPU";
    int rc = 0;

    if (w->gpu ||
        (c->kind[0] == MGDS_TEST_HOST && c->kind[1] == MGDS_TEST_HOST))
        return;
    if (mgds_test_gpu_open(w->local, why) < 0)
        rc = 1;
    MPI_Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rc)
        leave(w, SKIPPED, why);
    w->gpu = 1;
}

/* Room for the buffered sends of one case, which may start three times before
   the first is gone. */
static void attach(struct world *w, size_t bytes)
{
    int size = 3 * ((int)bytes + MPI_BSEND_OVERHEAD) + 4096;

    w->attached = mgds_mx_alloc((size_t)size);
    MPI_Buffer_attach(w->attached, size);
}

static void detach(struct world *w)
{
    void *at;
    int size;

    MPI_Buffer_detach(&at, &size);
    free(w->attached);
}

/* The failure of the lowest rank that has one, on rank 0. */
static int verdict(struct world *w, struct mgds_mx_case *c)
{
    int mine = c->why[0] ? w->rank : w->ranks;
    int first;

    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == w->ranks || first == 0)
        return first;
    if (w->rank == first)
        MPI_Send(c->why, MGDS_MX_WHY, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    if (w->rank == 0)
        MPI_Recv(c->why, MGDS_MX_WHY, MPI_CHAR, first, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return first;
}

static void case_run(struct world *w, const char *name)
{
    struct mgds_mx_case c;
    char why[256];
    int first;

    if (mgds_mx_case_parse(&c, name, why))
        leave(w, 2, why);
    if (c.ranks != w->ranks) {
        snprintf(why, sizeof(why), "case %.100s: start it with -n %d", name,
                 c.ranks);
        leave(w, 2, why);
    }
    c.rank = w->rank;
    c.comm = w->comm;
    gpu_need(w, &c);
    if (w->rank == 0)
        printf("begin %s\n", name);
    fflush(stdout);
    if (strncmp(c.call->name, "Bsend", 5) == 0 ||
        strncmp(c.call->name, "Ibsend", 6) == 0)
        attach(w, c.bytes);
    c.call->run(&c);
    if (w->attached)
        detach(w);
    w->attached = NULL;
    first = verdict(w, &c);
    w->failed |= first < w->ranks;
    if (w->rank == 0 && first < w->ranks)
        printf("FAILED %s: rank %d: %s\n", name, first, c.why);
    else if (w->rank == 0)
        printf("ok %s\n", name);
    fflush(stdout);
}

static void file_run(struct world *w, const char *path)
{
    char name[NAME_MAX_BYTES];
    char why[256];
    FILE *file = fopen(path, "r");

    if (!file) {
        snprintf(why, sizeof(why), "cannot read %.200s", path);
        leave(w, 2, why);
    }
    while (fscanf(file, "%127s", name) == 1)
        case_run(w, name);
    fclose(file);
}

static void arguments_run(struct world *w, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--file") == 0 && i + 1 < argc)
            file_run(w, argv[++i]);
        else
            case_run(w, argv[i]);
    }
}

int main(int argc, char **argv)
{
    struct world w = {0};

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    local_rank_find(&w);
    MPI_Comm_dup(MPI_COMM_WORLD, &w.comm);
    MPI_Comm_set_errhandler(w.comm, MPI_ERRORS_RETURN);
    arguments_run(&w, argc, argv);
    MPI_Comm_free(&w.comm);
    MPI_Finalize();
    return w.failed;
}
