/*
 * GPU memory that the program has just written by a call that is synchronous by
 * name: of cuMemcpyHtoD from pageable memory, of cuMemcpyDtoD and of cuMemset
 * the driver says that they may return before the memory is written, and orders
 * what comes later in the program's own streams alone ("API synchronization
 * behavior"). Copies of ours are in none of them, so a program that calls
 * cudaMemcpy and then MPI_Send would send what was there before.
 */
#ifndef MGDS_CUDA_SETTLE_H
#define MGDS_CUDA_SETTLE_H

#include "shim/gds/cuda/ptr.h"

/*
 * When it returns, such calls have written the allocation; from now on they
 * return only when they have (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, set once for
 * each allocation); asynchronous ones do not change (H100, driver 580). It is
 * for buffers of calls without a stream alone, whose data must be there anyway:
 * a program that enqueues may have such calls behind a wait for a message.
 * Memory of cuMemMap has no such attribute: nothing happens. Any thread.
 */
void mgds_settle(const struct mgds_ptr *ptr);

#endif
