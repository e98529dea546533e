/* What is late goes on: receivers are told of sends, receives are fetched.
 * Under the engine's lock. */
#ifndef MGDS_DOMAIN_HASTEN_H
#define MGDS_DOMAIN_HASTEN_H

void mgds_hasten_late(void);

#endif
