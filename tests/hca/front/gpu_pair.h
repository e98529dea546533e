/* A pair of QPs on the software ConnectX, and memory of the software GPU that
 * the first writes to and the second has registered. What fails fails the
 * test. */
#ifndef MGDS_TEST_GPU_PAIR_H
#define MGDS_TEST_GPU_PAIR_H

#include "sim/cuda/state.h"
#include "tests/hca/front/verbs_pair.h"

enum { GPU_BYTES = 1 << 16 };

struct gpu_pair {
    struct verbs_pair verbs;
    CUdeviceptr at;    /* GPU_BYTES, all 0 */
    struct ibv_mr *mr; /* of it; b's */
};

#define CU(call) assert_int_equal(call, CUDA_SUCCESS)

void gpu_pair_open(struct gpu_pair *pair);
void gpu_pair_close(struct gpu_pair *pair);

/* So many bytes of GPU memory, all 0. */
CUdeviceptr gpu_zeroed(size_t bytes);

/* A region with all rights. NULL: errno says why. */
struct ibv_mr *gpu_register(struct ibv_pd *pd, CUdeviceptr at, size_t bytes);

/* A dma-buf of them. */
int gpu_export(CUdeviceptr at, size_t bytes);

/* Posts an operation between the side's memory and that address, signalled. */
void gpu_post(const struct verbs_side *side, enum ibv_wr_opcode opcode,
              struct ibv_sge sge, uint64_t address, uint32_t rkey);

/* The status of the next completion, which comes. */
enum ibv_wc_status gpu_wait(const struct verbs_side *side);

/* Memory of a GPU is as expected, for a copy of the driver. */
void gpu_expect(CUdeviceptr at, const void *expected, size_t bytes);

/* All that QPs can do with 5000 bytes of memory of b's, which WQEs call by
 * `address`: both sides, and the GPU, find what the others have written. */
void gpu_exercise(struct gpu_pair *pair, CUdeviceptr at, struct ibv_mr *mr,
                  uint64_t address);

/* The same with a region of its own that begins anywhere in a page. */
void gpu_exercise_part(struct gpu_pair *pair);

/* So many SENDs to b's memory of the GPU, each of which is there for a copy
 * that follows the completion of its receive. */
void gpu_exercise_receives(struct gpu_pair *pair, int laps);

#endif
