/* Opens, fills and empties the pipes that programs read events from. */
#include "sim/hca/front/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Opening the pipe again gives a descriptor whose O_NONBLOCK is its own, and
 * that keeps a reader: writing never raises SIGPIPE. */
static int open_again(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int mgds_hca_channel_open(struct mgds_hca_channel *channel, size_t record)
{
    int end[2];
    int own;

    if (pipe2(end, O_CLOEXEC) < 0)
        return -errno;
    own = open_again(end[0]);
    close(end[1]);
    if (own < 0) {
        close(end[0]);
        return own;
    }
    *channel =
        (struct mgds_hca_channel){.fd = end[0], .own = own, .record = record};
    return 0;
}

void mgds_hca_channel_close(struct mgds_hca_channel *channel)
{
    close(channel->own);
    channel->own = -1;
}

bool mgds_hca_channel_send(const struct mgds_hca_channel *channel,
                           const void *record)
{
    return write(channel->own, record, channel->record) ==
           (ssize_t)channel->record;
}

uint32_t mgds_hca_channel_drop(const struct mgds_hca_channel *channel,
                               uint64_t object)
{
    uint8_t record[MGDS_HCA_RECORD_MAX];
    uint32_t dropped = 0;
    int waiting = 0;

    if (ioctl(channel->own, FIONREAD, &waiting) < 0)
        return 0;
    for (size_t left = (size_t)waiting / channel->record; left > 0; left--) {
        if (read(channel->own, record, channel->record) !=
            (ssize_t)channel->record)
            break;
        if (memcmp(record, &object, sizeof(object)) == 0)
            dropped++;
        else
            mgds_hca_channel_send(channel, record);
    }
    return dropped;
}
