/*
 * Operations whose long messages (rget.h) nobody may come to copy: sends of
 * which the receiver does not know yet that their stream has come to them;
 * receives whose stream is to take the message, and may be blocked elsewhere.
 * As work items (msg/work.h): receivers are told, receives are fetched.
 */
#ifndef MGDS_MSG_HASTEN_H
#define MGDS_MSG_HASTEN_H

/* Registers the handlers, before the wire is opened. */
void mgds_hasten_init(void);

#endif
