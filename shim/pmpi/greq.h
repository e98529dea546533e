/*
 * Generalized requests as our own completion calls see them. grequest.h is for
 * who makes them.
 */
#ifndef MGDS_PMPI_GREQ_H
#define MGDS_PMPI_GREQ_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/pmpi/grequest.h"
#include "shim/pmpi/staged.h"

/* The states drawn in grequest.h. */
enum mgds_greq_phase {
    MGDS_GREQ_STARTED = 1,
    MGDS_GREQ_BELOW,
    MGDS_GREQ_LANDED,
    MGDS_GREQ_COPYING,
    MGDS_GREQ_DONE,
};

struct mgds_greq {
    struct mgds_staged staged; /* first; its handle is the application's */
    const struct mgds_greq_ops *ops;
    void *state;
    MPI_Request below;
    unsigned refs; /* atomic: MPI's or ours, and those of calls under way */
    const void *claimed; /* by which thread: atomic; NULL by none. The claimer
                            alone touches what follows until DONE */
    enum mgds_greq_phase phase;
    bool stepped;   /* by a call of ours: MPI's next poll has nothing to do */
    bool cancelled; /* by the application, not yet told below: atomic */
    int error;      /* MPI's, of the operation */
    int unsaid;     /* negative errno that no error handler was told of yet */
    MPI_Status status;
    struct mgds_greq *next; /* among the consumed */
};

/* One step: 1 if it is done, else 0. Any thread. */
int mgds_greq_poll(struct mgds_greq *greq);

/* A reference, for as long as a call looks at it: an error handler that MPI
 * calls meanwhile may complete or free any request. */
void mgds_greq_get(struct mgds_greq *greq);
void mgds_greq_put(struct mgds_greq *greq);

/*
 * One step of many, by one thread, which has references to all of them: what
 * has come below is copied up together (round.h), as soon as it is worth while,
 * at the end of the pass at the latest.
 *
 *   begin, step for each, end
 */
enum { MGDS_GREQ_TOGETHER = 16 };

struct mgds_greq_pass {
    struct mgds_greq *landed[MGDS_GREQ_TOGETHER];
    int count;    /* of landed */
    size_t bytes; /* of these */
    int left;     /* were stepped and are not done */
    bool tested;  /* some of them below: MPI made progress */
};

void mgds_greq_pass_begin(struct mgds_greq_pass *pass);
void mgds_greq_pass_step(struct mgds_greq_pass *pass, struct mgds_greq *greq);

/* True if all are done. */
bool mgds_greq_pass_end(struct mgds_greq_pass *pass);

/*
 * Between watch and watched the thread's completion call below reports errors
 * of generalized requests not through MPI (which knows neither their
 * communicator nor their class) but to us: watched gives those that MPI has
 * freed meanwhile, chained by next. Who takes them puts them.
 */
void mgds_greq_watch(void);
struct mgds_greq *mgds_greq_watched(void);

/* The operation's error; its communicator's handler is told if it was not. */
int mgds_greq_error(struct mgds_greq *greq);

/* What is to be told, and counts as told from now on: negative errno, or 0. */
int mgds_greq_take_unsaid(struct mgds_greq *greq);

/* NULL if it is another kind. */
struct mgds_greq *mgds_greq_of(struct mgds_staged *staged);

#endif
