/* The handlers of envelopes that move messages; see arrive.c. */
#ifndef MGDS_MSG_ARRIVE_H
#define MGDS_MSG_ARRIVE_H

/* Registers the handlers, before the wire is opened. */
void mgds_arrive_init(void);

#endif
