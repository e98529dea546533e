/* The engine in the program's own thread. */
#ifndef MGDS_HCA_INLINE_H
#define MGDS_HCA_INLINE_H

#include <stdint.h>

struct mgds_hca_file;

/* ibv_poll_cq of this context runs the engines from now on when it finds
 * nothing (MPIX_SIM_HCA_INLINE). `user` is what the program calls a CQ: for
 * libibverbs the address of its struct ibv_cq, by which the context is found;
 * anything else is left alone. Under the lock. */
void mgds_hca_inline_poll(const struct mgds_hca_file *file, uint64_t user);

#endif
