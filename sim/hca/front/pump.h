/* The one lock of the software ConnectX in a process, and the thread that
 * executes what is posted.
 *
 *   state     the thread                          left when
 *   none      is not there                        a QP is made
 *   asleep    waits without a time                a QP is made, or it ends
 *   spinning  runs the engines, yields between    nothing was done for SPIN
 *   resting   runs them, sleeps NAP between       nothing was done for DOZE
 *   dozing    the same with REST                  something was done
 *
 * It is asleep while no QP exists. A packet ends a rest early; a doorbell does
 * not. While a program runs the engines itself, by polling, the thread naps,
 * and packets do not wake it. All words here and all objects of front and
 * engine are written under the lock; rings, records and UAR pages as engine.h
 * says. */
#ifndef MGDS_HCA_PUMP_H
#define MGDS_HCA_PUMP_H

#include <stdbool.h>

void mgds_hca_lock(void);
void mgds_hca_unlock(void);

/* This thread has the lock. Safe in a signal handler. */
bool mgds_hca_pump_holds(void);

/* Under the lock: a QP was made, or is gone. -EAGAIN: there is no thread, and
 * none can be made; the QP must not be. */
int mgds_hca_pump_add(void);
void mgds_hca_pump_drop(void);

/* Runs the engines in the caller's thread, unless another one does. */
void mgds_hca_pump_inline(void);

/* Any thread. False: this process ends, or was forked from the one that has the
 * lock and the objects. */
bool mgds_hca_pump_serves(void);

/* In a child that was forked, which has no engine: polling runs none. */
void mgds_hca_pump_forget(void);

/* The thread ends, and nobody runs the engines any more. */
void mgds_hca_pump_stop(void);

#endif
