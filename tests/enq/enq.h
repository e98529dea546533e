/*
 * Cases of communication in stream order, for plain mains under mpiexec: each
 * case is a function; what does not hold ends the whole job with a line.
 * Streams, buffers with guards and patterns, and stalls that the case opens.
 */
#ifndef MGDS_TESTS_ENQ_H
#define MGDS_TESTS_ENQ_H

#include <mpix_gds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/gpu.h"
#include "tests/lib/mpi_check.h"

#define ENQ_OK(call) CHECK((call) == MPI_SUCCESS)

/* This process, set before the first case. */
struct enq_job {
    int rank;
    int size;
    int device; /* whose primary context is current */
    int laps;   /* --laps: rounds of what is repeated (50) */
    bool full;  /* --full: sizes that want hardware */
    bool warm;  /* --warm: see enq_arena_give */
    int level;  /* --level: what MPI is asked for; a program may ask for less
                 * than MPI_THREAD_MULTIPLE before enq_main */
};
extern struct enq_job enq;

/*
 * run is called by all ranks; those it has nothing for take part in what is
 * collective. Ranks: the least that it needs.
 */
struct enq_case {
    const char *name;
    int ranks;
    void (*run)(void);
};

/*
 * The whole program: [--full] [--warm] [--laps N] [--limit SECONDS] [--split]
 * [--level L] [--list] [CASE...], a CASE being the head of a name. --split: odd
 * ranks play another host. Returns the exit status: 0 passed, 2 bad usage, 77
 * nothing could run.
 */
int enq_main(int argc, char **argv, const char *group,
             const struct enq_case *cases);

/* Whether --split was given. */
bool enq_split(void);

/* The sizes that cases go through, ended by ENQ_NO_SIZE. */
#define ENQ_NO_SIZE ((size_t)-1)
#define ENQ_SMALL ((size_t)64)
#define ENQ_LARGE ((size_t)1 << 20)
const size_t *enq_sizes(void);

/* A native stream, its object, and a communicator over all ranks with it. */
struct enq_lane {
    CUstream cu;
    MPIX_Stream stream;
    MPI_Comm comm;
};

/* A stream object of a native stream. */
MPIX_Stream enq_stream_of(CUstream cu);

/* Collective. Without gpu this rank gives MPIX_STREAM_NULL. */
void enq_lane_open(struct enq_lane *lane);
void enq_lane_open_as(struct enq_lane *lane, bool gpu);
/* Of a native stream that is not the lane's to destroy, such as 0. */
void enq_lane_open_on(struct enq_lane *lane, CUstream cu);
/* Of a stream of another GPU than this rank's, if there is one. */
void enq_lane_open_other(struct enq_lane *lane);
/* Whether nothing comes from another GPU while somebody frees memory: only a
 * kernel that stands would copy it, and none stands where ranks share a GPU
 * (docs/when-it-does-not-help.md), unless kernels were asked for. Says so. */
bool enq_frees_alone(void);
/* The primary context of that GPU; and whether the kernels of either GPU can
 * reach the other's memory. */
CUcontext enq_other_context(void);
bool enq_other_reaches(void);
/* Waits for the stream first; collective. */
void enq_lane_close(struct enq_lane *lane);
/* Waits until the stream has done what is on it. */
void enq_sync(const struct enq_lane *lane);

/*
 * With --warm, device memory of buffers is part of one allocation, the arena,
 * and each lane, when it is opened, has messages from there to and fro: what
 * the library learns of an allocation by its first messages it knows before the
 * case begins. Returns memory of the arena, or NULL: not --warm, or no room.
 * Any thread.
 */
char *enq_arena_give(size_t bytes);
/* False: not of the arena. */
bool enq_arena_take(const char *at);
/* Collective, in every rank that has opened the lane. */
void enq_lane_warm(const struct enq_lane *lane);

/*
 * Memory with guards at both ends. A new buffer, and one just wiped, holds
 * the pattern "untouched" everywhere.
 */
struct enq_buffer {
    struct mgds_test_memory memory;
    char *at;
    size_t bytes;
};
void enq_buffer_open(struct enq_buffer *b, size_t bytes); /* device memory */
void enq_buffer_open_kind(struct enq_buffer *b, size_t bytes,
                          enum mgds_test_kind kind);
void enq_buffer_open_other(struct enq_buffer *b, size_t bytes);
/* Device memory, an allocation of its own, --warm or not. */
void enq_buffer_open_alone(struct enq_buffer *b, size_t bytes);
void enq_buffer_close(struct enq_buffer *b);
void enq_wipe(struct enq_buffer *b);
/* Fills it with the pattern of a message; 0 is not a message. */
void enq_fill(struct enq_buffer *b, unsigned message);
/* The first bytes are the message's, all others and the guards untouched. */
void enq_expect(const struct enq_buffer *b, size_t bytes, unsigned message);
/* The first bytes, whatever they are. */
void enq_read(const struct enq_buffer *b, void *to, size_t bytes);
/* Byte i of a message, and of the pattern "untouched" (message 0). */
unsigned char enq_byte(unsigned message, size_t i);

/* Work on a stream that stands for a kernel: fills the buffer with a byte, or
 * copies another buffer there. */
void enq_kernel_set(CUstream cu, struct enq_buffer *b, unsigned char value);
void enq_kernel_copy(CUstream cu, struct enq_buffer *to,
                     const struct enq_buffer *from);

/* The lane's stream is captured by this thread; and, at the end, how many nodes
 * the graph has, which goes. */
void enq_capture_begin(const struct enq_lane *lane);
size_t enq_capture_end(const struct enq_lane *lane);

/* A stall: streams that hold it wait until it is opened. */
struct enq_gate {
    uint32_t *word;
};
void enq_gate_make(struct enq_gate *gate);
void enq_gate_hold(const struct enq_gate *gate, CUstream cu);
void enq_gate_open(const struct enq_gate *gate);
void enq_gate_free(struct enq_gate *gate); /* after its streams went on */

/* Enqueued calls that must succeed, of whole buffers of bytes. */
void enq_send(const struct enq_lane *lane, const struct enq_buffer *b, int to,
              int tag);
void enq_recv(const struct enq_lane *lane, struct enq_buffer *b, int from,
              int tag, MPI_Status *status);
void enq_isend(const struct enq_lane *lane, const struct enq_buffer *b, int to,
               int tag, MPI_Request *request);
void enq_irecv(const struct enq_lane *lane, struct enq_buffer *b, int from,
               int tag, MPI_Request *request);
void enq_wait(MPI_Request *request, MPI_Status *status);
void enq_waitall(int count, MPI_Request *requests);

/* A word from one rank to another outside of all lanes: both go on when it
 * has come. */
void enq_tell(int to);
void enq_hear(int from);

/* Source, tag, bytes. */
void enq_status_is(MPI_Status *status, int source, int tag, size_t bytes);
/* A class of error, from a call whose communicator returns errors. */
int enq_class(int code);

/* A counter of this process, by its name (MPIX_Gds_counter). */
int64_t enq_counter(const char *name);
/* Memory of this process that is there, KiB. */
long enq_resident_kib(void);
/* Errors on this communicator return and are counted. */
void enq_errors_count(MPI_Comm comm);
int enq_errors(void);

#endif
