/*
 * Collectives on GPU memory against the same collectives on host memory. A call
 * is described once (args) and can be made in every form.
 */
#ifndef MGDS_TESTS_GPU_COLL_H
#define MGDS_TESTS_GPU_COLL_H

#include <mpi.h>
#include <stdbool.h>

enum { RANKS_MAX = 8, NEIGHBOURS_MAX = 4 };

enum form {
    BLOCKING,
    NONBLOCKING,
    PERSISTENT,
    LARGE,
    LARGE_NONBLOCKING,
    LARGE_PERSISTENT,
    FORMS
};

/* Arrays in both widths. */
struct list {
    int count[RANKS_MAX], displ[RANKS_MAX];
    MPI_Count count_c[RANKS_MAX];
    MPI_Aint displ_c[RANKS_MAX];
    MPI_Datatype type[RANKS_MAX];
};

struct args {
    void *send, *recv;
    int count;
    struct list sends, recvs;     /* displacements in elements */
    struct list sends_w, recvs_w; /* in bytes, with types */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

typedef int call_fn(enum form form, const struct args *args,
                    MPI_Request *request);

/* How long the blocks are. */
enum counting {
    EVEN,    /* count, all of them */
    BY_RANK, /* as the rank says that gives or gets it, its own too */
    BY_PAIR  /* as both ranks say */
};

/* Buffers that mean nothing on ranks other than the root. */
enum idle { NONE_IDLE, RECV_IDLE, SEND_IDLE, BOTH_SAME };

struct collective {
    const char *name;
    call_fn *call;
    enum counting counting;
    enum idle idle;
    bool in_place, reduces, neighbours, inter;
};

extern const struct collective collectives[];
extern const int collective_count;

enum topology { WORLD, INTER, OPEN_GRID, CLOSED_GRID, GRAPH, TOPOLOGIES };

struct world {
    MPI_Comm comm;
    int rank, size;
    int peers; /* blocks of a buffer: ranks, remote ranks or neighbours */
    int root;  /* as the call wants it */
    bool is_root, is_leaf;
    int in[RANKS_MAX], out[RANKS_MAX]; /* whom the blocks belong to */
};

/* comm is MPI_COMM_NULL where the job has too few ranks for it. */
extern struct world worlds[TOPOLOGIES];
void make_worlds(void);
void free_worlds(void);

/*
 * Cases as covering arrays: values are those of a case, one of each factor;
 * strength is 2 for pairs of values and 3 for triples. New: some combination
 * of that many values is in no case that was marked. If each case that is new
 * is run and marked, no combination that a case has is left out.
 */
enum { COVER_FACTORS = 7 };
bool cover_is_new(const int *values, int strength);
void cover_mark(const int *values, int strength);

#endif
