/* Which transport GPU memory takes between two ranks, as the library told both
 * ends of each of the probe's messages, why no better one, and what helps. */
#ifndef MGDS_DOCTOR_PAIRS_H
#define MGDS_DOCTOR_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/doctor/facts.h"

/* One way: from a rank to a rank, which may be the same. Texts are the facts',
 * or constant. */
struct mgds_pair {
    int from, to;
    bool same_host;
    bool enqueued;    /* else an ordinary call of MPI */
    bool at_fault;    /* no message, though both have a GPU */
    json_int_t bytes; /* of the message; 0: there was none */
    const char *transport;
    const char *reason; /* "": there is no better one */
    const char *remedy; /* "": nothing helps in this version */
};

/* By use, ranks, and bytes. */
struct mgds_pairs {
    struct mgds_pair *pair;
    size_t count;
    int ranks;
};

/* Without messages in the facts there are none. -ENOMEM. */
int mgds_pairs_create(struct mgds_pairs *pairs, const struct mgds_facts *facts);
void mgds_pairs_fini(struct mgds_pairs *pairs);

/* Lines for people, each a group of ways that are alike; the caller's to free.
 * NULL: no memory. */
char *mgds_pairs_text(const struct mgds_pairs *pairs);

#endif
