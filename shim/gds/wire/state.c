/* What the files of the wire share; see state.h. */
#include "shim/gds/wire/state.h"

struct mgds_wire mgds_wire = {
    .setup = MGDS_LOCK_INIT(MGDS_LOCK_SETUP),
    .lock = MGDS_LOCK_INIT(MGDS_LOCK_WIRE),
    .flights = TAILQ_HEAD_INITIALIZER(mgds_wire.flights),
    .lost = TAILQ_HEAD_INITIALIZER(mgds_wire.lost),
    .leaf = MGDS_LOCK_INIT(MGDS_LOCK_LEAF),
    .posts = TAILQ_HEAD_INITIALIZER(mgds_wire.posts),
    .spare = TAILQ_HEAD_INITIALIZER(mgds_wire.spare),
    .event = -1,
    .bell = -1,
};
