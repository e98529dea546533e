/*
 * Several bounces copied at once: the context is entered when the first is, and
 * left at the end, and one mark stands behind all (clock.h).
 *
 *   begin, mgds_bounce_up and mgds_bounce_down as often as need be, end
 *
 * A round is the calling thread's. In it no call of the program's may come, and
 * nothing is waited for. Outside of one each copy enters by itself.
 */
#ifndef MGDS_STAGE_ROUND_H
#define MGDS_STAGE_ROUND_H

#include "shim/gds/stage/stage.h"

/* Rounds do not nest. */
void mgds_round_begin(void);
void mgds_round_end(void);

/* For bounce.c: around the driver calls of one copy. 0 or negative errno: then
 * without leave. */
int mgds_round_enter(struct mgds_stage *stage);
void mgds_round_leave(void);

#endif
