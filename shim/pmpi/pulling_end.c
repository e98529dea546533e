/* The end of a call whose pulls are not over; see pulling.h. */
#include <sched.h>
#include <stdint.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/pulling.h"

#define LONGEST_PULL_NS UINT64_C(10000000000)

/* Its copy needs nothing but a copy engine, unless the program keeps that busy:
 * then it is left to later calls. */
static void end_pull(struct mgds_request *request)
{
    uint64_t end = mgds_clock_ns() + LONGEST_PULL_NS;

    while (mgds_grequest_still_pulls(request)) {
        if (mgds_clock_ns() > end) {
            mgds_warn_once("a copy out of another process's GPU memory takes "
                           "more than 10 s: the program's work on this GPU "
                           "seems to be in its way");
            return;
        }
        mgds_grequest_poll(request);
        sched_yield();
    }
}

mgds_word mgds_pulling_end(mgds_word result)
{
    struct mgds_request *request;

    while ((request = mgds_pulling_take())) {
        end_pull(request);
        mgds_request_put(request);
    }
    return result;
}
