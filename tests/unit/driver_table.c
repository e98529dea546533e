/* The table of driver calls against the toolkit's: each prototype is that of
 * the version it is asked with. Nothing runs; it compiles or it does not. */
#include <cuda.h>
#include <cudaTypedefs.h>

#include "shim/gds/cuda/driver.h"

#define X(name, version, need, params)                                         \
    _Static_assert(__builtin_types_compatible_p(                               \
                       __typeof__(((struct mgds_driver *)0)->name),            \
                       PFN_##name##_v##version),                               \
                   "the prototype of " #name " is not that of its version");
#include "shim/gds/cuda/driver.def"
#undef X
