/* Where tests of envelopes run that name places of a ring, or memory: a
 * communicator that has a ring in GPU memory, on a wire that goes nowhere. This
 * process is SELF; what the others say is made up by the test. */
#ifndef MGDS_TEST_GPU_ENV_H
#define MGDS_TEST_GPU_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "shim/gds/comm/comm.h"
#include "tests/soft/queue_place.h"
#include "tests/unit/wire_come.h"

/* FAR is on another host. */
enum { SELF, OTHER, FAR, RANKS };
enum { SHORT = 64, LONG = 1 << 19, DONES = 256 };
enum { PATIENCE_S = 60 };

struct gpu_env {
    struct queue_stream stream;
    struct mgds_comm *comm;
    struct mgds_channels *channels;
    struct mgds_layout *layout;  /* a byte */
    CUdeviceptr from, to;        /* LONG bytes each */
    struct mgds_ring_pair *pair; /* with OTHER */
    uint32_t room;               /* units of the ring that OTHER has here */
    uint64_t refused;            /* before */
};

void gpu_env_open(struct gpu_env *place);
/* Waits for the stream. */
void gpu_env_close(struct gpu_env *place);
/* Until the stream is through, with what the engine does meanwhile. */
void gpu_env_finish(struct gpu_env *place);

/* Waits until the operation is over, and gives it back: its error. */
int gpu_env_outcome(struct mgds_op *op);

/* The stream goes no further than here until it is let go; then it comes to its
 * end. */
uint64_t *gpu_env_hold(struct gpu_env *place);
void gpu_env_let_go(struct gpu_env *place, uint64_t *gate);

/* For limits of what is waited for. */
time_t gpu_env_seconds(void);

/* Refusals since the last question. */
unsigned gpu_env_refused(struct gpu_env *place);

/* The first bytes of LONG are that, those behind as they were. */
void gpu_env_assert_gpu(CUdeviceptr gpu, unsigned char value, size_t bytes);

/* Well-formed ones; an RTS names a place in the ring that OTHER has. */
struct mgds_xfer gpu_env_xfer_of(const struct gpu_env *place, CUdeviceptr at,
                                 size_t bytes, int peer);
struct mgds_rts gpu_env_rts_of(uint32_t rank, uint64_t number, size_t bytes);

/* What is posted comes when the engine has got so far. */
const struct wire_post *gpu_env_await(enum mgds_envelope kind);

/* The first message of that rank comes staged: it is told of, its receive asks
 * for it, and its bytes are there. */
void gpu_env_come_staged(uint32_t rank);

/* An enqueued send to this process itself, and what it tells its receiver. */
struct mgds_op *gpu_env_send_to_self(struct gpu_env *place, size_t bytes,
                                     struct mgds_rts *rts);

/* Both at once, as a blocking receive is. */
void gpu_env_recv_on_stream(struct gpu_env *place, size_t bytes, int peer,
                            const struct mgds_op_sink *sink);
/* A sink's: arg is where to. */
void gpu_env_keep_status(void *arg, const struct mgds_op_status *status);

#endif
