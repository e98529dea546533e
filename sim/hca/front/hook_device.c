/* Interposed calls by which a program talks to a device's file, and to the
 * kernel about RDMA. */
#include <errno.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl.h>

#include "sim/hca/front/command.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/hook.h"
#include "sim/hca/front/method.h"
#include "sim/hca/front/next.h"
#include "sim/hca/front/settings.h"

/* libibverbs asks NETLINK_RDMA for devices first, and sysfs if there is no such
 * protocol. */
MGDS_HCA_EXPORT int socket(int domain, int type, int protocol)
{
    if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    return MGDS_HCA_NEXT(socket)(domain, type, protocol);
}

MGDS_HCA_EXPORT ssize_t write(int fd, const void *data, size_t bytes)
{
    int rc;

    if (mgds_hca_file_device(fd) < 0)
        return MGDS_HCA_NEXT(write)(fd, data, bytes);
    rc = mgds_hca_command_write(fd, data, bytes);
    if (rc == 0)
        return (ssize_t)bytes;
    errno = -rc;
    return -1;
}

/* What a device that takes commands by write alone says, an old kernel's. */
static int run_method(int fd, void *call)
{
    int rc = mgds_hca_settings()->methods ? mgds_hca_method_ioctl(fd, call)
                                          : -ENOTTY;

    if (rc == 0)
        return 0;
    errno = -rc;
    return -1;
}

MGDS_HCA_EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    void *argument;

    va_start(args, request);
    argument = va_arg(args, void *);
    va_end(args);
    if (request == RDMA_VERBS_IOCTL && mgds_hca_file_adopt(fd))
        return run_method(fd, argument);
    return MGDS_HCA_NEXT(ioctl)(fd, request, argument);
}

MGDS_HCA_EXPORT int close(int fd)
{
    mgds_hca_file_close(fd);
    return MGDS_HCA_NEXT(close)(fd);
}
