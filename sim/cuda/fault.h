/* Faults of GPU work: an access that hits nothing ends the operation, not the
 * process. Only threads that are inside mgds_fault_run are caught; every other
 * fault goes to whoever handled it before. */
#ifndef MGDS_SIM_FAULT_H
#define MGDS_SIM_FAULT_H

/* Installs the handlers, behind which the ones that were there stay. Again
 * whenever GPU work starts: somebody may have put a handler over ours. */
void mgds_fault_open(void);

/* Runs body(arg): 0, or -EFAULT if it touched memory that is not there, or
 * -ECANCELED if mgds_fault_leave was called in it. Without the lock. */
int mgds_fault_run(void (*body)(void *arg), void *arg);

/* Ends the body that is running; returns if none is. */
void mgds_fault_leave(void);

#endif
