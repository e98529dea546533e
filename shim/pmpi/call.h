/*
 * A call of point-to-point or one-sided communication as its words: bodies of
 * a family are the same but for the function, so they share one that works on
 * these.
 */
#ifndef MGDS_PMPI_CALL_H
#define MGDS_PMPI_CALL_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/calls.h"
#include "shim/pmpi/side.h"
#include "shim/pmpi/words.h"

enum { MGDS_CALL_WORDS = 13 };

struct mgds_call_words {
    mgds_word word[MGDS_CALL_WORDS];
    unsigned words;
    bool large;          /* the call is a _c */
    bool grown;          /* a count came to need the _c */
    enum mgds_call twin; /* the _c of this call */
};

/* The two bodies of a function and its large-count twin. */
#define MGDS_CALL_BODIES(name, n, shared)                                      \
    mgds_word mgds_own_##name(MGDS_PARAMS_##n)                                 \
    {                                                                          \
        struct mgds_call_words call = {                                        \
            {MGDS_ARGS_##n}, n, false, false, MGDS_CALL_##name##_c};           \
                                                                               \
        return shared(&call);                                                  \
    }                                                                          \
    mgds_word mgds_own_##name##_c(MGDS_PARAMS_##n)                             \
    {                                                                          \
        struct mgds_call_words call = {                                        \
            {MGDS_ARGS_##n}, n, true, false, MGDS_CALL_##name##_c};            \
                                                                               \
        return shared(&call);                                                  \
    }

/* A count among the words. */
MPI_Count mgds_call_count(const struct mgds_call_words *call, unsigned at);

/* Looks at the buffer whose address, count and type begin at word at. As
 * mgds_side_init. */
int mgds_call_side(struct mgds_side *side, const struct mgds_call_words *call,
                   unsigned at, enum mgds_side_way way);

/* Puts a side in the place of the buffer whose words begin at at; for every
 * buffer of the call. If one needs a large count forward calls the twin. */
void mgds_call_put(struct mgds_call_words *call, unsigned at,
                   const struct mgds_side *side);

/* Goes down with the words as they are now. */
mgds_word mgds_call_forward(const struct mgds_call_words *call);

/* If the word at at is MPI_STATUS_IGNORE, spare stands in for it. */
MPI_Status *mgds_call_status(struct mgds_call_words *call, unsigned at,
                             MPI_Status *spare);

#endif
