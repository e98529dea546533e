/* The end of a peer, or of a stream; see lost.c. All but init under the
 * engine's lock. */
#ifndef MGDS_COMM_LOST_H
#define MGDS_COMM_LOST_H

struct mgds_timeline;

/* From now on the ends of peers are heard of: once. */
void mgds_lost_init(void);
/* The stream is ruined: all that is under way on it fails. */
void mgds_lost_timeline(const struct mgds_timeline *timeline, int error);

#endif
