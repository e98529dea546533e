/*
 * The states of a request of ours, from when it is made until its record goes.
 * request_states.def is the table; here is what the words mean.
 *
 *   send         NEW -> ACTIVE -> gone      DONE if the program has freed it
 *   persistent   NEW -> INACTIVE -> ACTIVE -> COPYING -> INACTIVE ...
 *                       INACTIVE -> GIVEN -> INACTIVE ...
 *   template     NEW -> INACTIVE -> gone    what it starts are generalized ones
 *   generalized  NEW -> ACTIVE -> LANDED -> COPYING -> DONE
 *                       ACTIVE -> DONE      an operation of our own
 *
 * ACTIVE   the request below, or our own operation, is asked whether it is
 *          complete
 * GIVEN    it is not started below: what stands in for it brings its message
 *          (persist_kept.h)
 * LANDED   it is, and waits for a moment, so that the data of several requests
 *          are copied up together
 * COPYING  copies up are queued, all or some of them
 * DONE     what was behind the request is given back, or soon will be; MPI asks
 *          for the status, then frees it
 *
 * Pure: no lock, no other file of ours. Who may move a request says request.h.
 */
#ifndef MGDS_PMPI_REQUEST_STATE_H
#define MGDS_PMPI_REQUEST_STATE_H

enum mgds_request_state {
#define MGDS_STATE(name, text) MGDS_REQUEST_##name,
#include "shim/pmpi/request_states.def"
    MGDS_REQUEST_STATES
};

/* In the order of a request's life. */
enum mgds_request_event {
    MGDS_REQUEST_ON_INIT,   /* the call below has made a persistent one */
    MGDS_REQUEST_ON_BEGIN,  /* the call below, or our own, has begun another */
    MGDS_REQUEST_ON_DROP,   /* that call has failed */
    MGDS_REQUEST_ON_START,  /* the program has started a persistent one */
    MGDS_REQUEST_ON_GIVE,   /* the same, and another brings its message */
    MGDS_REQUEST_ON_LAND,   /* the operation below is complete */
    MGDS_REQUEST_ON_COPY,   /* what it brought is queued to be copied up */
    MGDS_REQUEST_ON_REST,   /* a persistent one is complete */
    MGDS_REQUEST_ON_FINISH, /* another is complete */
    MGDS_REQUEST_ON_LINGER, /* nobody has it, and its operation goes on */
    MGDS_REQUEST_EVENTS
};

/* Where the event leads; `state` itself: nowhere, it is refused. */
enum mgds_request_state mgds_request_state_after(enum mgds_request_state state,
                                                 enum mgds_request_event event);

/* "is complete"; constant. */
const char *mgds_request_state_text(enum mgds_request_state state);

#endif
