/* The CUDA driver as the list calls it: libcuda.so.1 by dlopen, every symbol
 * with a version of its own. A symbol that the driver lacks ends the case
 * that calls it, with the symbol's name. */
#ifndef MGDS_HW_DRIVER_H
#define MGDS_HW_DRIVER_H

#include <cudaTypedefs.h>

struct mgds_driver {
#define X(name, version) PFN_cu##name##_v##version name;
#include "driver.def"
#undef X
    PFN_cuGetProcAddress_v12000 GetProcAddress;
};

/* Filled by mgds_driver_load; its members read as the calls they are. */
extern struct mgds_driver cu;

/* Opens the library and fills `cu`; initialises nothing. 0, or -1 with one
 * line on what is wrong in `why`. */
int mgds_driver_load(char *why, size_t size);

/* Symbols the driver lacks, after mgds_driver_load. */
int mgds_driver_missing(void);

/* Path of the library that was opened. */
const char *mgds_driver_path(void);

#endif
