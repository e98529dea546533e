/*
 * Memory of every kind that a program may hand to MPI, for tests: allocated
 * and copied through the CUDA driver's API. Programs that use no GPU kind load
 * no driver.
 */
#ifndef MGDS_TEST_GPU_H
#define MGDS_TEST_GPU_H

#include <stddef.h>

#include "shim/gds/cuda/driver_abi.h"

enum mgds_test_kind {
    MGDS_TEST_HOST,
    MGDS_TEST_DEVICE,     /* cuMemAlloc */
    MGDS_TEST_ASYNC,      /* cuMemAllocAsync */
    MGDS_TEST_VMM,        /* cuMemCreate and cuMemMap */
    MGDS_TEST_MANAGED,    /* cuMemAllocManaged */
    MGDS_TEST_PINNED,     /* cuMemHostAlloc */
    MGDS_TEST_REGISTERED, /* malloc and cuMemHostRegister */
    MGDS_TEST_KINDS,
};

struct mgds_test_memory {
    enum mgds_test_kind kind;
    char *at;
    size_t bytes;
    CUcontext context; /* that was current then, and its stream; */
    CUstream stream;   /* NULL: those that are current now */
    CUmemGenericAllocationHandle handle; /* VMM only */
};

/* The driver's calls, filled by mgds_test_gpu_open. */
struct mgds_test_driver {
#define X(name, version, params) CUresult(*name) params;
#include "tests/lib/gpu.def"
#undef X
};
extern struct mgds_test_driver mgds_cu;

/*
 * Makes the primary context of device `local_rank` modulo their count current
 * in this thread. Returns the device, or -ENODEV with one line in why.
 */
int mgds_test_gpu_open(int local_rank, char why[256]);

/* "host", "device", "async", "vmm", "managed", "pinned", "registered". */
const char *mgds_test_kind_name(enum mgds_test_kind kind);

/*
 * Returns 0, or -ENOMEM with a line on stderr. The memory is ready for use by
 * anybody. GPU kinds: after mgds_test_gpu_open, in the same thread.
 */
int mgds_test_memory_alloc(struct mgds_test_memory *memory,
                           enum mgds_test_kind kind, size_t bytes);
void mgds_test_memory_free(struct mgds_test_memory *memory);

/* Copies between host memory and the first bytes of `memory`, complete when
 * they return; driver errors end the process with a line. */
void mgds_test_memory_write(struct mgds_test_memory *memory, const void *from,
                            size_t bytes);
void mgds_test_memory_read(const struct mgds_test_memory *memory, void *to,
                           size_t bytes);

/* The current context ends, as by a program's own fault: what a copy that is
 * under way reads goes. Each of its calls fails from then on. */
void mgds_test_break_context(void);

/* Ends the process with the driver's name of the error unless it is none. */
void mgds_test_cu_check(CUresult rc, const char *call);
#define MGDS_CU(call) mgds_test_cu_check(mgds_cu.call, #call)

#endif
