/* The end of a call whose pulls are not over; see pulling.h. */
#include <sched.h>
#include <stdint.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/pulling.h"

#define LONGEST_NS UINT64_C(10000000000)

/* A step of each, for their senders wait for their own alone; what is over goes
 * off the list, with its reference. */
static void step_all(void)
{
    struct mgds_request *request, *rest = NULL;

    while ((request = mgds_pulling_take())) {
        if (mgds_grequest_still_pulls(request))
            mgds_grequest_poll(request);
        request->pulling = rest;
        rest = request;
    }
    while ((request = rest)) {
        rest = request->pulling;
        if (mgds_grequest_still_pulls(request))
            mgds_pulling_add(request);
        mgds_request_put(request);
    }
}

static void drop_all(void)
{
    struct mgds_request *request;

    while ((request = mgds_pulling_take()))
        mgds_request_put(request);
}

/* Copies need nothing but a copy engine, unless the program keeps that busy:
 * then they are left to later calls. */
mgds_word mgds_pulling_end(mgds_word result)
{
    uint64_t end = mgds_clock_ns() + LONGEST_NS;

    for (step_all(); mgds_pulling_any(); step_all()) {
        if (mgds_clock_ns() > end) {
            mgds_warn_once("a copy out of another process's GPU memory takes "
                           "more than 10 s: the program's work on this GPU "
                           "seems to be in its way");
            drop_all();
        }
        mgds_below_progress();
        sched_yield();
    }
    return result;
}
