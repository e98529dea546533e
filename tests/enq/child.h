/* For programs of which a rank is killed: mpiexec ends the job when a process
 * that it has started is killed, so that is one that waits for the rank. */
#ifndef MGDS_TESTS_ENQ_CHILD_H
#define MGDS_TESTS_ENQ_CHILD_H

/* Before anything else. Returns in the rank; what waits for it ends as it does,
 * and well if it was killed. When one ends early mpiexec sends the others a
 * signal: nobody heeds that. */
void be_a_child(void);

#endif
