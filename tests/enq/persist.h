/* Cases of persistent requests: what their files use of each other. Calls that
 * must succeed, and leave the handle as it was. */
#ifndef MGDS_TESTS_ENQ_PERSIST_H
#define MGDS_TESTS_ENQ_PERSIST_H

#include "tests/enq/enq.h"

enum { TAG = 3, LONG = 300000, SHORT = 96 };
enum { SEND, SSEND, RSEND, BSEND, KINDS };

void persist_send_init(const struct enq_lane *lane, const struct enq_buffer *b,
                       int to, int kind, MPI_Request *request);
void persist_recv_init(const struct enq_lane *lane, struct enq_buffer *b,
                       int from, MPI_Request *request);
void persist_start(MPI_Request *request);
void persist_start_by(MPI_Request *request, bool enqueued); /* or the host */
void persist_hand_over(MPI_Request *request, MPI_Status *status);
void persist_drop(MPI_Request *request);
void persist_is_not_over(MPI_Request *request);
/* An inactive one gives an empty status, once nothing of it is under way. */
void persist_rests(MPI_Request *request);

/* persist_life.c */
void persist_freed(void);
void persist_made_of_what_is_gone(void);
void persist_threads(void);
void persist_left_behind(void);

/* persist_errors.c */
void persist_refused(void);
void persist_captured(void);
void persist_cancelled(void);
void persist_truncated(void);
void persist_transport(void);

#endif
