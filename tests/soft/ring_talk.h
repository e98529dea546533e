/* What tests have OTHER (gpu_env.h) say of rings, and communicators that it has
 * with this process. */
#ifndef MGDS_TEST_RING_TALK_H
#define MGDS_TEST_RING_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/transport/offer.h"
#include "tests/soft/gpu_env.h"

/* The context of the pair that gpu_env.c opens, as OTHER calls it. */
enum { TALK_THERE = 77 };

/* The id of this process's context. */
uint64_t talk_here(const struct gpu_env *place);

/* An envelope of that rank comes: any; RING_ASKED, for so many units; one of
 * that ring. The last one is of OTHER's context of that id. */
void talk_come(unsigned from, enum mgds_envelope kind, const void *head,
               size_t bytes);
void talk_ask(const struct gpu_env *place, unsigned from, uint32_t units);
void talk_say(const struct gpu_env *place, unsigned from,
              enum mgds_envelope kind, uint32_t number);
void talk_say_of(uint64_t there, const struct gpu_env *place,
                 enum mgds_envelope kind, uint32_t number, int error);

/* The next RING_TOLD of this process. */
struct mgds_ring_told talk_told(void);

/* May messages of OTHER be in that ring? */
bool talk_is_there(const struct gpu_env *place, uint32_t number);

/* The channels of one more communicator, in which OTHER has a stream as ours
 * is. */
struct talk_company {
    struct mgds_member members[RANKS];
    struct mgds_channels *channels;
};
void talk_open(struct talk_company *company, struct gpu_env *place);

/* What OTHER is told of it by MPI. */
/* A communicator of them: the caller's reference. It takes over the company's
 * channels. */
struct mgds_comm *talk_comm(struct talk_company *company,
                            struct gpu_env *place);

struct mgds_offer talk_offered(const struct talk_company *company);

#endif
