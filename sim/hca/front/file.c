/* Descriptors that are devices. */
#include "sim/hca/front/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/next.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/pump.h"

/* What each descriptor is: 0 nothing of ours, DEVICE + N, or a channel. Written
 * under the lock; read without, by calls that get any descriptor. */
enum { DESCRIPTORS = 1 << 16, DEVICE = 1, CHANNEL = 0xff };
enum { LAST_HANDLE = (1 << 20) - 1 };
static _Atomic uint8_t kind_of[DESCRIPTORS];

static struct mgds_hca_file *files;

/* The memory of each, by which copies are known: written under the lock, read
 * without. All of it is on one device. */
enum { MEMORIES = 256 };
static struct {
    _Atomic uint64_t inode; /* 0: the place is free */
    unsigned device;        /* written before */
} memories[MEMORIES];
static _Atomic uint64_t memory_device;

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

int mgds_hca_file_memory(uint64_t device, uint64_t inode)
{
    if (inode == 0 || device != memory_device)
        return -1;
    for (unsigned i = 0; i < MEMORIES; i++) {
        if (atomic_load_explicit(&memories[i].inode, memory_order_acquire) ==
            inode)
            return (int)memories[i].device;
    }
    return -1;
}

/* A file for which there is no place has no copies. */
static void note_memory(struct mgds_hca_file *file)
{
    struct stat about;
    unsigned i = 0;

    while (i < MEMORIES && memories[i].inode)
        i++;
    if (i == MEMORIES || MGDS_HCA_NEXT(fstat)(file->fd, &about) < 0)
        return;
    file->inode = about.st_ino;
    memory_device = about.st_dev;
    memories[i].device = file->device;
    /* Who sees the inode sees its device. */
    atomic_store_explicit(&memories[i].inode, about.st_ino,
                          memory_order_release);
}

static void forget_memory(const struct mgds_hca_file *file)
{
    for (unsigned i = 0; i < MEMORIES; i++) {
        if (file->inode && memories[i].inode == file->inode)
            memories[i].inode = 0;
    }
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
    note_memory(file);
    set_kind(file->fd, DEVICE + device);
    return file->fd;
}

int mgds_hca_file_open(unsigned device, int flags)
{
    int rc = mgds_hca_pump_serves() ? -EACCES : -EIO;

    if (!mgds_hca_ports_open()) /* a program may come here first */
        rc = -ENODEV;
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

    while (file && !mgds_hca_file_has(file, fd))
        file = file->next;
    return file;
}

bool mgds_hca_file_has(const struct mgds_hca_file *file, int fd)
{
    const struct mgds_hca_copy *copy = file->copies;

    while (copy && copy->fd != fd)
        copy = copy->next;
    return file->fd == fd || copy;
}

static bool add_copy(uint64_t inode, int fd)
{
    struct mgds_hca_copy *copy = malloc(sizeof(*copy));
    struct mgds_hca_file *file = files;

    while (file && file->inode != inode)
        file = file->next;
    if (!copy || !file || fd >= DESCRIPTORS) {
        free(copy);
        return false;
    }
    *copy = (struct mgds_hca_copy){.fd = fd, .next = file->copies};
    file->copies = copy;
    set_kind(fd, DEVICE + file->device);
    return true;
}

bool mgds_hca_file_adopt(int fd)
{
    struct stat about;
    bool done;

    if (mgds_hca_file_device(fd) >= 0)
        return true;
    if (kind(fd) != 0 || MGDS_HCA_NEXT(fstat)(fd, &about) < 0 ||
        mgds_hca_file_memory(about.st_dev, about.st_ino) < 0 ||
        !mgds_hca_pump_serves())
        return false;
    mgds_hca_lock();
    done = mgds_hca_file_find(fd) || add_copy(about.st_ino, fd);
    mgds_hca_unlock();
    return done;
}

struct mgds_hca_file *mgds_hca_file_next(const struct mgds_hca_file *file)
{
    return file ? file->next : files;
}

int mgds_hca_file_add_channel(struct mgds_hca_file *file, size_t record,
                              int *fd)
{
    struct mgds_hca_channel *channel = calloc(1, sizeof(*channel));
    int rc = channel ? mgds_hca_channel_open(channel, record) : -ENOMEM;

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

static struct mgds_hca_channel *find_channel(const struct mgds_hca_file *file,
                                             int fd)
{
    struct mgds_hca_channel *channel = file->channels;

    while (channel && channel->fd != fd)
        channel = channel->next;
    return channel;
}

struct mgds_hca_channel *mgds_hca_file_channel(struct mgds_hca_file *file,
                                               size_t record, int fd)
{
    struct mgds_hca_channel *channel = find_channel(file, fd);

    if (!channel && file->async.fd == fd)
        channel = &file->async;
    return channel && channel->record == record ? channel : NULL;
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

void *mgds_hca_file_take(struct mgds_hca_file *file, enum mgds_hca_object kind,
                         uint32_t handle)
{
    void *object = mgds_hca_file_get(file, kind, handle);

    if (object)
        mgds_hca_file_drop(file, kind, handle);
    return object;
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

/* True: it was not the last one. */
static bool close_copy(struct mgds_hca_file *file, int fd)
{
    struct mgds_hca_copy **at = &file->copies, *copy;

    if (file->fd == fd && file->copies)
        file->fd = file->copies->fd;
    else if (file->fd == fd)
        return false;
    else
        while ((*at)->fd != fd)
            at = &(*at)->next;
    copy = *at;
    *at = copy->next;
    free(copy);
    return true;
}

static void close_device(int fd)
{
    struct mgds_hca_file **at = &files;
    struct mgds_hca_file *file;

    while (*at && !mgds_hca_file_has(*at, fd))
        at = &(*at)->next;
    file = *at;
    if (!file || close_copy(file, fd))
        return;
    *at = file->next;
    forget_memory(file);
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

    if (channel->users || channel->fd >= 0 || channel == &file->async)
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
        channel = find_channel(file, fd);
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
