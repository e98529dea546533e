/* host: bytes in host memory, sent by the CPUs; see transport.h. */
#include "shim/gds/msg/am.h"
#include "shim/gds/transport/transport.h"

const struct mgds_transport mgds_host = {
    .path = MGDS_PATH_HOST,
    .post = mgds_am_post,
};
