/*
 * Subscriptions of a communicator. A receive from any source, and a probe, take
 * only a send that its sender has announced as reached (REACHED), and senders
 * announce that to who has subscribed (SUBSCRIBE). No connection is made for
 * that but to members that send:
 *
 *   SILENT      no message of the member has come on this communicator
 *   HEARD       one has, and nobody has asked for any source so far
 *   SUBSCRIBED  SUBSCRIBE was posted to the member
 *
 *   SILENT      --first wildcard-->   SUBSCRIBED  if it has a connection
 *   HEARD       --first wildcard-->   SUBSCRIBED
 *   SILENT      --RTS-->              HEARD, or, behind a wildcard, SUBSCRIBED
 *   SILENT, HEARD --probe of the member, or greeting--> SUBSCRIBED
 *
 * docs/ordering.md says why nothing that could be matched stays unmatched.
 *
 * The end of a member is seen by its connection alone. So that a receive from
 * any source, or a call that waits in a probe, hears when nobody is left, it
 * needs one living member that is subscribed at; one that has stood for two
 * seconds without (work_kinds.def, GREETING) subscribes at members that have a
 * connection by then, or else at up to eight silent ones, and at the next eight
 * when those are lost.
 *
 * All under the engine's lock, but init.
 */
#ifndef MGDS_COMM_WILDCARDS_H
#define MGDS_COMM_WILDCARDS_H

#include <stdbool.h>

#include "shim/gds/msg/work.h"

struct mgds_comm;
struct mgds_probe;

/* Of a member. */
enum mgds_subscription {
    MGDS_SUBSCRIPTION_SILENT, /* 0: as records are made */
    MGDS_SUBSCRIPTION_HEARD,
    MGDS_SUBSCRIPTION_SUBSCRIBED,
};

/* Of a communicator. */
struct mgds_wildcards {
    bool called;     /* a receive or probe of any source was */
    bool probed;     /* by a call that waits, since the last greeting */
    unsigned living; /* other members that are subscribed at, and not lost */
    struct mgds_work greeting;
};

/* Before the wire is opened. */
void mgds_wildcards_init(void);

/* A receive from any source is called. */
void mgds_wildcards_receive(struct mgds_comm *comm);
/* A probe looks for a message. */
void mgds_wildcards_probe(struct mgds_comm *comm,
                          const struct mgds_probe *probe);
/* An RTS of the rank has come, which nothing was decided on yet. */
void mgds_wildcards_hear(struct mgds_comm *comm, unsigned rank);
/* A rank was lost, and what had to fail has. */
void mgds_wildcards_lose(struct mgds_comm *comm);

#endif
