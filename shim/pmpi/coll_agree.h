/*
 * Whether a collective of a communicator is *direct*, that is goes as messages
 * of its own (coll_direct.h), or is staged (coll.h). Both are right whatever
 * memory each member has, so it is a matter of speed alone; but all members
 * must do the same, and no member knows the memory of the others. So they
 * vote: where some member's buffer is GPU memory and its largest block long
 * enough, that collective of the communicator is direct from then on, until
 * the next vote. A vote costs microseconds, so it is taken at the 1st, 2nd,
 * 4th, 8th .. call of a collective on a communicator, and every 64th: members
 * count their calls, which MPI has all of them make in the same order.
 *
 * Members vote where all are ranks of one host with GPUs, which MPI_Init has
 * agreed on, and the communicator is one of MPI's, of one group and more than
 * one member. What is told from the arguments alone (blocks too short, which
 * have one length for all) needs no vote.
 *
 * The messages need a communicator of their own, of the same members: it is
 * made at the first vote that needs it, and goes with the program's. MPICH has
 * two thousand of them, which are the program's: who has made MGDS_AGREED_MOST
 * of ours votes against one more.
 *
 * A collective that the program, or a tool, calls from inside another call of
 * MPI counts as any other: whether a call is nested is not the same for all
 * members (nested.h). Not seen alike are a communicator that outlasts MPI in
 * one member, which ends all of it and begins again with sessions, and one that
 * is used in a callback in MPI_Finalize where that ends MPI for one member and
 * not for another.
 *
 * Concurrency. What is known of a communicator is an attribute of it, and
 * belongs to the one thread that is in a collective of it.
 */
#ifndef MGDS_PMPI_COLL_AGREE_H
#define MGDS_PMPI_COLL_AGREE_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/coll.h"

enum { MGDS_AGREED_MOST = 256 };

/* A vote: what each says, and the largest of all. An error handler may jump out
 * of it while the MPI below still writes here. */
enum {
    MGDS_BALLOT_WANTS,
    MGDS_BALLOT_AGAINST,
    MGDS_BALLOT_TAG,
    MGDS_BALLOT_WORDS
};
struct mgds_coll_ballot {
    int mine[MGDS_BALLOT_WORDS], all[MGDS_BALLOT_WORDS];
    MPI_Request request;
};

struct mgds_coll_agreed {
    struct mgds_coll_facts facts;
    int *neighbors; /* in, then out; of a process topology, once asked for */
    bool votes;     /* members do */
    bool failed;    /* the communicator for messages could not be made */
    MPI_Comm own;   /* it; MPI_COMM_NULL: not made yet */
    int tag;        /* of the last direct collective */
    struct mgds_coll_ballot ballot;
    struct {
        unsigned calls;
        bool direct;
    } row[MGDS_COLL_ROWS];
};

/* What is known of the communicator; NULL: its members do not vote. MPI's code,
 * which its error handler was told of. */
int mgds_coll_agreed_of(struct mgds_coll_agreed **out,
                        const struct mgds_coll_row *row, MPI_Comm comm);

/* Asks for the neighbours in the communicator's topology, once. MPI's code,
 * likewise. */
int mgds_coll_agreed_neighbors(struct mgds_coll_agreed *agreed,
                               const struct mgds_coll_row *row, MPI_Comm comm);

/* Counts a call of the collective: whether a vote is due before it. */
bool mgds_coll_vote_is_due(struct mgds_coll_agreed *agreed, unsigned row);

/* Collective, and serves headers meanwhile. wants: this member's buffer speaks
 * for direct. MPI's code. */
int mgds_coll_vote(struct mgds_coll_agreed *agreed, MPI_Comm comm, unsigned row,
                   bool wants);

/* In MPI_Finalize, before the world ends below; and when the last of the world
 * and the sessions does. */
void mgds_coll_agree_leave_world(void);
void mgds_coll_agree_fini(void);

#endif
