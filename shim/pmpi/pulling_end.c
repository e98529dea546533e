/* The end of a call whose pulls are not over; see pulling.h. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/pulling.h"

#define LONGEST_NS UINT64_C(10000000000)

/* A step of each, for their senders wait for their own alone; what is over, or
 * is to be dropped, goes off the list, with its reference. */
static void step_all(bool drop)
{
    struct mgds_request *request = mgds_pulling_take();

    while (request) {
        struct mgds_request *next = request->pulling;

        if (mgds_grequest_still_pulls(request))
            mgds_grequest_poll(request);
        if (!drop && mgds_grequest_still_pulls(request))
            mgds_pulling_add(request);
        mgds_request_put(request);
        request = next;
    }
}

/* Copies need nothing but a copy engine, unless the program keeps that busy:
 * then they are left to later calls. */
mgds_word mgds_pulling_end(mgds_word result)
{
    uint64_t end = mgds_clock_ns() + LONGEST_NS;

    for (step_all(false); mgds_pulling_any(); step_all(false)) {
        if (mgds_clock_ns() > end) {
            mgds_warn_once("a copy out of another process's GPU memory takes "
                           "more than 10 s: the program's work on this GPU "
                           "seems to be in its way");
            step_all(true);
        }
        mgds_below_progress();
        sched_yield();
    }
    return result;
}
