/* Random bytes; see random.h. */
#include "shim/base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "shim/base/log.h"

int mgds_random(void *out, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = getrandom((char *)out + done, bytes - done, 0);

        if (n < 0 && errno != EINTR) {
            int rc = -errno;

            mgds_warn_once("getrandom failed: %m: allow that system call");
            return rc;
        }
        if (n > 0)
            done += (size_t)n;
    }
    return 0;
}
