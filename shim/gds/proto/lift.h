/*
 * Receives for whose bytes there was no pinned memory, and which no kernel puts
 * in place (flow.h): they come to ordinary memory, and a work item (COPY_UP)
 * copies them to the program's when the receive's stream is there, or a host
 * call asks.
 *
 *   DELIVERED   -> the same, in place: then it arrives
 */
#ifndef MGDS_PROTO_LIFT_H
#define MGDS_PROTO_LIFT_H

/* Registers the handler, before the wire is opened. */
void mgds_lift_init(void);

#endif
