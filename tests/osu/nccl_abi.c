/*
 * No code: compiling it, where NCCL's header is installed, compares nccl.def
 * with it. Our words for its types are int, void * and a struct of 128 bytes.
 */
#include <assert.h>
#include <nccl.h>

static_assert(sizeof(ncclUniqueId) == 128, "passed by value");
static_assert(sizeof(ncclResult_t) == sizeof(int), "results are int");
static_assert(sizeof(ncclDataType_t) == sizeof(int), "types are int");
static_assert(sizeof(ncclComm_t) == sizeof(void *), "handles are pointers");
static_assert(ncclSuccess == 0 && ncclInt8 == 0, "what we call them by");
static_assert(ncclInt32 == 2 && ncclFloat32 == 7 && ncclSum == 0, "likewise");

#define SAME(call, type)                                                       \
    static_assert(__builtin_types_compatible_p(__typeof__(call), type), #call)

SAME(ncclGetVersion, ncclResult_t(int *));
SAME(ncclGetErrorString, const char *(ncclResult_t));
SAME(ncclGetUniqueId, ncclResult_t(ncclUniqueId *));
SAME(ncclCommInitRank, ncclResult_t(ncclComm_t *, int, ncclUniqueId, int));
SAME(ncclCommDestroy, ncclResult_t(ncclComm_t));
SAME(ncclGroupStart, ncclResult_t(void));
SAME(ncclGroupEnd, ncclResult_t(void));
SAME(ncclAllReduce, ncclResult_t(const void *, void *, size_t, ncclDataType_t,
                                 ncclRedOp_t, ncclComm_t, cudaStream_t));
SAME(ncclAllGather, ncclResult_t(const void *, void *, size_t, ncclDataType_t,
                                 ncclComm_t, cudaStream_t));
SAME(ncclBroadcast, ncclResult_t(const void *, void *, size_t, ncclDataType_t,
                                 int, ncclComm_t, cudaStream_t));
SAME(ncclSend, ncclResult_t(const void *, size_t, ncclDataType_t, int,
                            ncclComm_t, cudaStream_t));
SAME(ncclRecv, ncclResult_t(void *, size_t, ncclDataType_t, int, ncclComm_t,
                            cudaStream_t));
