/* The pack kernel by the driver of a test: how a door loads and launches it. */
#ifndef MGDS_TEST_STAGE_DOOR_H
#define MGDS_TEST_STAGE_DOOR_H

#include "shim/gds/mem/pack.h"

/* After soft_cuda_load. */
extern const struct mgds_pack_door stage_door;

/* One whose loads are refused, as by a driver that cannot compile the image. */
extern const struct mgds_pack_door stage_door_refusing;

#endif
