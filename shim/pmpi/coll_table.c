/* coll_table.def as data, found by the id of a function. */
#include "shim/pmpi/coll.h"

#define NONE MGDS_COLL_NONE
#define SIDE(shape, many, who, addr, count, displs, type)                      \
    {                                                                          \
        MGDS_COLL_##shape, MGDS_COLL_##many, MGDS_COLL_##who, addr, count,     \
            displs, type                                                       \
    }

static const struct mgds_coll_row rows[MGDS_COLL_ROWS] = {
#define MGDS_COLL(name, lower, root, comm, send, recv, in_place)               \
    [MGDS_COLL_ROW_##name] = {MGDS_COLL_ROW_##name, root, comm, send, recv,    \
                              MGDS_COLL_##in_place, false},
#define MGDS_REDUCTION(name, lower, root, comm, send, recv, in_place)          \
    [MGDS_COLL_ROW_##name] = {MGDS_COLL_ROW_##name, root, comm, send, recv,    \
                              MGDS_COLL_##in_place, true},
#define MGDS_REDUCTION_LOCAL MGDS_REDUCTION
#include "shim/pmpi/coll_table.def"
#undef MGDS_COLL
#undef MGDS_REDUCTION
#undef MGDS_REDUCTION_LOCAL
};

#define FORM(row, function, kind)                                              \
    [MGDS_CALL_##                                                              \
        function] = {&rows[MGDS_COLL_ROW_##row], MGDS_COLL_##kind, false},     \
      [MGDS_CALL_##function##                                                  \
          _c] = {&rows[MGDS_COLL_ROW_##row], MGDS_COLL_##kind, true},

const struct mgds_coll_call mgds_coll_calls[MGDS_CALLS] = {
#define MGDS_COLL(name, lower, root, comm, send, recv, in_place)               \
    FORM(name, name, BLOCKING)                                                 \
    FORM(name, I##lower, NONBLOCKING)                                          \
    FORM(name, name##_init, PERSISTENT)
#define MGDS_REDUCTION MGDS_COLL
#define MGDS_REDUCTION_LOCAL(name, lower, root, comm, send, recv, in_place)    \
    FORM(name, name, BLOCKING)
#include "shim/pmpi/coll_table.def"
#undef MGDS_COLL
#undef MGDS_REDUCTION
#undef MGDS_REDUCTION_LOCAL
};
