/* Memory of the program that a command names. The kernel says EFAULT of what is
 * not there, and so does this: it asks the kernel. */
#ifndef MGDS_HCA_USER_H
#define MGDS_HCA_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies from there, or to there. 0 or -EFAULT. */
int mgds_hca_user_read(void *to, const void *from, size_t bytes);
int mgds_hca_user_write(void *to, const void *from, size_t bytes);

/* The memory is brought in, as pinning does, and may be used like that; 0,
 * -EFAULT, or -EINVAL for none at all. */
int mgds_hca_user_pin(uint64_t start, uint64_t bytes, bool write);

/* The same of a queue and of its record, both of which the engine writes or
 * might. */
int mgds_hca_user_pin_queue(uint64_t queue, uint64_t bytes, uint64_t record);

#endif
