/* Methods of the kernel's uverbs interface, by ioctl(2): INVOKE_WRITE, which
 * carries a command (command.h), and the rows of methods.def. A call has
 * attributes by number; what one that is not there would say is 0. */
#ifndef MGDS_HCA_METHOD_H
#define MGDS_HCA_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ib_uverbs_ioctl_hdr;
struct mgds_hca_file;
struct mgds_hca_parts;

/* What ioctl(RDMA_VERBS_IOCTL) on a device does; 0 or negative errno. Takes the
 * lock. */
int mgds_hca_method_ioctl(int fd, struct ib_uverbs_ioctl_hdr *call);

/* For handlers: under the lock, 0 or negative errno, and then nothing was
 * made. */
#define X(object, method, handler)                                             \
    int mgds_hca_method_##handler(struct mgds_hca_file *file,                  \
                                  struct ib_uverbs_ioctl_hdr *call);
#include "sim/hca/front/methods.def"
#undef X

/* The call has that attribute. */
bool mgds_hca_method_has(const struct ib_uverbs_ioctl_hdr *call,
                         unsigned attribute);

/* Copies what was sent. -EINVAL: less, or nothing; -EFAULT. */
int mgds_hca_method_read(const struct ib_uverbs_ioctl_hdr *call,
                         unsigned attribute, void *to, size_t bytes);

/* What libmlx5 sends with it, and where it wants its response. */
void mgds_hca_method_driver(const struct ib_uverbs_ioctl_hdr *call,
                            struct mgds_hca_parts *parts);

/* An attribute that holds a number or a handle. */
uint64_t mgds_hca_method_get(const struct ib_uverbs_ioctl_hdr *call,
                             unsigned attribute);

/* Stores a handle that was made. */
void mgds_hca_method_set(struct ib_uverbs_ioctl_hdr *call, unsigned attribute,
                         uint64_t handle);

/* Copies to where the program wants it, as much as there is room. */
void mgds_hca_method_put(const struct ib_uverbs_ioctl_hdr *call,
                         unsigned attribute, const void *data, size_t bytes);

#endif
