/* Descriptors that are devices. */
#include "sim/hca/front/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/pump.h"

/* What each descriptor is: 0 nothing of ours, DEVICE + N, or a channel. Written
 * under the lock; read without, by calls that get any descriptor. */
enum { DESCRIPTORS = 1 << 16, DEVICE = 1, CHANNEL = 0xff };
enum { LAST_HANDLE = (1 << 20) - 1 };
static _Atomic uint8_t kind_of[DESCRIPTORS];

static struct mgds_hca_file *files;

static unsigned kind(int fd)
{
    if (fd < 0 || fd >= DESCRIPTORS)
        return 0;
    return atomic_load_explicit(&kind_of[fd], memory_order_relaxed);
}

static void set_kind(int fd, unsigned value)
{
    atomic_store_explicit(&kind_of[fd], (uint8_t)value, memory_order_relaxed);
}

int mgds_hca_file_device(int fd)
{
    unsigned value = kind(fd);

    return value == 0 || value == CHANNEL ? -1 : (int)(value - DEVICE);
}

static int open_file(unsigned device)
{
    struct mgds_hca_file *file = calloc(1, sizeof(*file));
    int rc = file ? mgds_hca_bar_open(&file->bar, &file->fd) : -ENOMEM;

    if (rc == 0 && file->fd >= DESCRIPTORS) {
        mgds_hca_bar_close(&file->bar);
        close(file->fd);
        rc = -EMFILE;
    }
    if (rc < 0) {
        free(file);
        return rc;
    }
    file->device = device;
    file->next = files;
    files = file;
    set_kind(file->fd, DEVICE + device);
    return file->fd;
}

int mgds_hca_file_open(unsigned device, int flags)
{
    int rc = mgds_hca_pump_serves() ? -EACCES : -EIO;

    if (rc == -EACCES && (flags & O_ACCMODE) == O_RDWR) {
        mgds_hca_lock();
        rc = open_file(device);
        mgds_hca_unlock();
    }
    if (rc >= 0)
        return rc;
    errno = -rc;
    return -1;
}

struct mgds_hca_file *mgds_hca_file_find(int fd)
{
    struct mgds_hca_file *file = files;

    while (file && file->fd != fd)
        file = file->next;
    return file;
}

struct mgds_hca_file *mgds_hca_file_next(const struct mgds_hca_file *file)
{
    return file ? file->next : files;
}

int mgds_hca_file_add_channel(struct mgds_hca_file *file, int *fd)
{
    struct mgds_hca_channel *channel = calloc(1, sizeof(*channel));
    int rc =
        channel ? mgds_hca_channel_open(channel, sizeof(uint64_t)) : -ENOMEM;

    if (rc < 0) {
        free(channel);
        return rc;
    }
    channel->next = file->channels;
    file->channels = channel;
    if (channel->fd < DESCRIPTORS)
        set_kind(channel->fd, CHANNEL);
    *fd = channel->fd;
    return 0;
}

struct mgds_hca_channel *mgds_hca_file_channel(const struct mgds_hca_file *file,
                                               int fd)
{
    struct mgds_hca_channel *channel = file->channels;

    while (channel && channel->fd != fd)
        channel = channel->next;
    return channel;
}

int mgds_hca_file_add(struct mgds_hca_file *file, enum mgds_hca_object kind,
                      void *object, uint32_t *handle)
{
    *handle = mgds_hca_table_add(&file->objects[kind], object, 1, LAST_HANDLE);
    return *handle ? 0 : -ENOMEM;
}

void *mgds_hca_file_get(const struct mgds_hca_file *file,
                        enum mgds_hca_object kind, uint32_t handle)
{
    return mgds_hca_table_find(&file->objects[kind], handle);
}

void mgds_hca_file_drop(struct mgds_hca_file *file, enum mgds_hca_object kind,
                        uint32_t handle)
{
    mgds_hca_table_drop(&file->objects[kind], handle);
}

static void free_channels(struct mgds_hca_file *file)
{
    struct mgds_hca_channel *channel;

    while ((channel = file->channels)) {
        file->channels = channel->next;
        if (channel->fd >= 0 && channel->fd < DESCRIPTORS)
            set_kind(channel->fd, 0);
        mgds_hca_channel_close(channel);
        free(channel);
    }
}

static void close_device(int fd)
{
    struct mgds_hca_file **at = &files;
    struct mgds_hca_file *file;

    while (*at && (*at)->fd != fd)
        at = &(*at)->next;
    file = *at;
    if (!file)
        return;
    *at = file->next;
    mgds_hca_destroy_all(file);
    free_channels(file);
    mgds_hca_bar_close(&file->bar);
    if (file->adapter) {
        mgds_hca_channel_close(&file->async);
        mgds_hca_adapter_put(file->adapter);
    }
    free(file);
}

/* CQs may still name a channel whose descriptor is closed. */
static void drop_unused(struct mgds_hca_file *file,
                        struct mgds_hca_channel *channel)
{
    struct mgds_hca_channel **at = &file->channels;

    if (channel->users || channel->fd >= 0)
        return;
    while (*at != channel)
        at = &(*at)->next;
    *at = channel->next;
    mgds_hca_channel_close(channel);
    free(channel);
}

void mgds_hca_file_put_channel(struct mgds_hca_file *file,
                               struct mgds_hca_channel *channel)
{
    channel->users--;
    drop_unused(file, channel);
}

static void close_channel(int fd)
{
    struct mgds_hca_channel *channel;

    for (struct mgds_hca_file *file = files; file; file = file->next) {
        channel = mgds_hca_file_channel(file, fd);
        if (!channel)
            continue;
        channel->fd = -1;
        drop_unused(file, channel);
    }
}

void mgds_hca_file_close(int fd)
{
    if (kind(fd) == 0 || !mgds_hca_pump_serves())
        return;
    mgds_hca_lock();
    if (kind(fd) == CHANNEL)
        close_channel(fd);
    else
        close_device(fd);
    set_kind(fd, 0);
    mgds_hca_unlock();
}
