/*
 * Waits on streams that take too long: MPIX_GDS_TIMEOUT ends them, operation by
 * operation, and the streams go on. A wait takes too long when its stream has
 * stood at it for that time (stand.h), so what the program has put ahead of it
 * does not count, nor what it has put ahead of the operation, on whichever
 * stream; nor does time in which this process did not run, since what came
 * meanwhile lies unread.
 *
 *   receive   not matched, or nothing of its message has come: fails, and its
 *             sender, if it is known, is told (ENDED). A message that comes all
 *             the same is dropped, or, where a kernel stands for it, not taken
 *             (quit.c). What is being copied completes. Of one that comes in
 *             parts the same is true when none has come for that time; where
 *             the wire is in the middle of one, the peer is taken for dead
 *   send      REVOKED: its receiver is asked to do without it
 *               nobody had matched it, though a probe may have shown it: it is
 *                 taken out of the matcher there, and ENDED, with an error:
 *                 fails here
 *               it was matched: ENDED without one, and the receive fails
 *                 unless its stream has come to it; of a TAKE that is on the
 *                 stream, who has the claim decides (fetch.h); of one in parts,
 *                 whether anything came since it was asked last. Then ENDED
 *                 with an error, too. What is being copied completes. Asked
 *                 again each time that the timeout is over
 *               no answer within the timeout: the peer is taken for dead
 *
 * So no send of the program's ends before it is certain that nobody reads its
 * buffer any more, but where the peer is taken for dead: one that was only
 * stopped may read it later.
 *
 * All functions but init are called under the engine's lock.
 */
#ifndef MGDS_COMM_EXPIRE_H
#define MGDS_COMM_EXPIRE_H

/* Ends what has taken too long; after a look at where streams stand. */
void mgds_expire_look(void);

/* Registers the handlers of REVOKE and ENDED, before the wire is opened. */
void mgds_expire_init(void);

#endif
