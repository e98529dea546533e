/*
 * Streams that cannot be saved: all that stands on such a one passes, and what
 * is under way there, and every later operation, ends with the error. One line
 * says so.
 */
#ifndef MGDS_DOMAIN_RUIN_H
#define MGDS_DOMAIN_RUIN_H

#include <stdbool.h>

/* Ruins streams that are doomed (mgds_line_doom). Under the engine's lock. */
void mgds_ruins_look(void);

/* Looks whether contexts of streams that do not move are still good; else the
 * streams are ruined. Without the lock, by a host call or the worker: a CUDA
 * call. And whether there is anything to look at now. */
void mgds_lines_check(void);
bool mgds_lines_to_check(void);

#endif
