/*
 * The requests of a completion call whose handles are our own (own_handle.h).
 * They are GENERALIZED ones, and not in the array that goes down: that has what
 * is shown of them (hostreq.h), or nothing.
 *
 * Where the call completes all of its requests they need not be shown: they are
 * done before the call below, which knows nothing of them, and are taken behind
 * it. Only a call that takes long shows them, if requests that are none of ours
 * are beside them. An error handler may show, complete or free them at any
 * time.
 *
 * For wave.c and wave_settle.c.
 */
#ifndef MGDS_PMPI_WAVE_OWN_H
#define MGDS_PMPI_WAVE_OWN_H

#include "shim/pmpi/wave.h"

/* The request at i was looked up, and an array of ours goes down. 0 or
 * -ENOMEM. */
int mgds_wave_own_begin(struct mgds_wave *wave, int i);

/* After each step: decides what is to go down for the request at i. False: an
 * error handler has completed or freed it, and it is nothing any more. */
bool mgds_wave_own_look(struct mgds_wave *wave, int i);

/* Whether the request at i is done, and nothing goes down for it. */
bool mgds_wave_own_is_over(const struct mgds_wave *wave, int i);

/* Whether some requests are not done, of those for which nothing goes down. */
bool mgds_wave_own_any_left(const struct mgds_wave *wave);

/* Asks for the requests from *next on, in turn, as far as they come at once:
 * MPI makes progress with all while it is asked for one. */
void mgds_wave_own_step_in_turn(const struct mgds_wave *wave, int *next);

/* Shows the requests that are not done, so that the call below may be any.
 * False: there was no memory for some. */
bool mgds_wave_own_show(struct mgds_wave *wave);

/* Gives the program's array what the call below did with what stands for the
 * request at i. */
void mgds_wave_own_give_back(const struct mgds_wave *wave, int i);

/* The call has completed all: takes the requests for which nothing went down,
 * with what they brought, in front of those that MPI has freed. */
struct mgds_request *mgds_wave_own_take(struct mgds_wave *wave,
                                        struct mgds_request *consumed);

#endif
