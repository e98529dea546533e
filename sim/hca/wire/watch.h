/* A look at a device that does not answer: it has had the time to, or is late.
 * A process that the machine gives no time is late, and not dead: what it was
 * sent is not lost, and no retry is counted, until it has come to it.
 *
 *   NEW --> SENT --taken--> TAKEN --rounds--> DONE      each by a look
 *
 * A look sees the words of the peer's inbox (inbox.h), and how far it has taken
 * what came, where the medium knows that. What it has answered by then is there
 * to be received before the look that says so. */
#ifndef MGDS_SIM_HCA_WIRE_WATCH_H
#define MGDS_SIM_HCA_WIRE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_hca_fabric;

enum mgds_hca_watch_stage {
    MGDS_WATCH_NEW, /* zero */
    MGDS_WATCH_SENT,
    MGDS_WATCH_TAKEN,
    MGDS_WATCH_DONE
};

struct mgds_hca_watch {
    enum mgds_hca_watch_stage stage;
    uint32_t position; /* of the medium, when it began */
    uint32_t rounds;   /* of the peer, when it had taken that */
};

/* Looks. False: the peer is there, and has not come yet to what was sent before
 * the first look. True: nobody is there, or it has, and all that it answered
 * was received if the caller has received everything between this look and the
 * one before. */
bool mgds_hca_watch_look(struct mgds_hca_watch *watch,
                         struct mgds_hca_fabric *fabric, uint16_t lid);

#endif
