/* Memory of a region that a program unmaps while the region is there. The
 * kernel has pinned it for a ConnectX, which goes on reaching it: UCX unmaps
 * receives before it destroys their QP. Here the engine's load or store strikes
 * a hole: a page of nobody's is put there, from which 0 is read and into which
 * writes are lost.
 *
 * For that SIGSEGV has a handler, which each region puts in place, and which
 * passes on what is not so: to the handler that was there before. A program
 * that replaces it behind its last region has to call it. */
#ifndef MGDS_HCA_GUARD_H
#define MGDS_HCA_GUARD_H

/* A region is about to be made; under the lock. */
void mgds_hca_guard_open(void);

#endif
