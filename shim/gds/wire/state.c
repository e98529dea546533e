/* What the files of the wire share; see state.h. */
#include "shim/gds/wire/state.h"

struct mgds_wire mgds_wire = {
    .lock = MGDS_LOCK_INIT(MGDS_LOCK_WIRE),
    .leaf = MGDS_LOCK_INIT(MGDS_LOCK_LEAF),
};
