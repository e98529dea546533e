/* Driver results to errno: the one place where CUresult ends. Every driver
 * call of this folder goes through mgds_cu, so that whoever decides about an
 * error can still say it in the driver's words. */
#ifndef MGDS_CUDA_RESULT_H
#define MGDS_CUDA_RESULT_H

#include "shim/gds/cuda/driver_abi.h"

struct mgds_driver; /* driver.h */

/* 0 for CUDA_SUCCESS, else negative errno (table in result.c; -EIO for what
 * stands in no row: a device or context that is broken for good). Any other
 * result than success is remembered for the calling thread. */
int mgds_cu(CUresult result);

/* Room for the longest text below; longer ones are cut. */
#define MGDS_CU_TEXT 160

/* The last result of this thread that was not success, written to text, which
 * is returned: "out of memory (CUDA_ERROR_OUT_OF_MEMORY)". In the words of the
 * driver, or, where that is NULL or has none, in ours. */
const char *mgds_cu_text(const struct mgds_driver *driver,
                         char text[MGDS_CU_TEXT]);

#endif
