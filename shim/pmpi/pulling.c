/* Receives whose pulls a thread has begun; see pulling.h. */
#include "shim/pmpi/pulling.h"

#include "shim/pmpi/request.h"

_Thread_local struct mgds_request *mgds_pulling;

void mgds_pulling_add(struct mgds_request *request)
{
    mgds_request_get(request);
    request->pulling = mgds_pulling;
    mgds_pulling = request;
}

struct mgds_request *mgds_pulling_take(void)
{
    struct mgds_request *request = mgds_pulling;

    mgds_pulling = NULL;
    return request;
}
