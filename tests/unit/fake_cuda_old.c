/* A libcuda.so.1 from before cuGetProcAddress_v2: it tells its version, as
 * scripted, and that is all. */
#include "tests/unit/fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT extern struct fake_cuda fake_script;
EXPORT extern CUresult cuDriverGetVersion(int *version);

struct fake_cuda fake_script = {.version = 13000};

CUresult cuDriverGetVersion(int *version)
{
    *version = fake_script.version;
    return fake_script.version_result;
}
