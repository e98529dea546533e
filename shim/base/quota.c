/* Lines of all processes of a host, counted; see quota.h. */
#include "shim/base/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"

enum { ROWS = 64, TRY_NS = 1000000 };

struct row {
    uint64_t key;
    uint64_t begin; /* of the period, ns: the clock is the host's */
    uint64_t used;  /* when the row was last written: the same clock */
    uint32_t lines;
    uint32_t left;
};

static bool is_mine(int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
           file.st_uid == geteuid() && (file.st_mode & 077) == 0 &&
           file.st_nlink == 1;
}

/* flock waits without an end, or not at all: so this looks. */
static bool lock(int fd, uint64_t patience)
{
    const struct timespec pause = {.tv_nsec = TRY_NS};
    uint64_t begin = mgds_clock_ns();

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (mgds_clock_ns() - begin >= patience)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Locked, or -1. */
static int open_table(uint64_t patience)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/dev/shm/mpix-gds-lines.%u",
             (unsigned)geteuid());
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
              0600);
    if (fd >= 0 && !is_mine(fd)) {
        close(fd);
        fd = -1;
        errno = EPERM;
    }
    if (fd < 0) {
        mgds_warn_once("%s cannot be used: %m: lines of this host's processes "
                       "are not counted together; remove it, or have its "
                       "owner do so",
                       path);
        return -1;
    }
    if (lock(fd, patience))
        return fd;
    close(fd);
    return -1;
}

/* Before a reboot the clock was another one. */
static uint64_t age(uint64_t now, uint64_t time)
{
    return time > now ? UINT64_MAX : now - time;
}

/* The row of the key, or the one that was not used for longest. */
static unsigned choose(const struct row rows[ROWS], uint64_t key)
{
    uint64_t now = mgds_clock_ns();
    unsigned oldest = 0;

    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].key == key)
            return i;
        if (age(now, rows[i].used) > age(now, rows[oldest].used))
            oldest = i;
    }
    return oldest;
}

struct place {
    int fd;
    off_t at;
    struct row row;
};

static bool take_row(struct place *place, const struct mgds_quota *quota)
{
    struct row rows[ROWS] = {{0}};
    unsigned i;

    place->fd = open_table(quota->patience);
    if (place->fd < 0)
        return false;
    if (pread(place->fd, rows, sizeof(rows), 0) < 0) {
        close(place->fd);
        return false;
    }
    i = choose(rows, quota->key);
    place->at = (off_t)(i * sizeof(rows[0]));
    place->row = rows[i];
    if (place->row.key != quota->key)
        place->row = (struct row){.key = quota->key};
    return true;
}

/* What cannot be written was not counted: that is all. */
static void give_row(struct place *place)
{
    place->row.used = mgds_clock_ns();
    if (pwrite(place->fd, &place->row, sizeof(place->row), place->at) < 0)
        mgds_debug("lines of this host are not counted: %m");
    close(place->fd);
}

unsigned mgds_quota_take(const struct mgds_quota *quota, unsigned wanted)
{
    struct place place;
    uint64_t now;
    unsigned rest;

    if (!take_row(&place, quota))
        return wanted;
    now = mgds_clock_ns();
    if (age(now, place.row.begin) >= quota->period) {
        place.row.begin = now;
        place.row.lines = 0;
    }
    rest = place.row.lines < quota->most ? quota->most - place.row.lines : 0;
    if (wanted > rest)
        wanted = rest;
    place.row.lines += wanted;
    give_row(&place);
    return wanted;
}

void mgds_quota_leave(const struct mgds_quota *quota, unsigned left)
{
    struct place place;

    if (!take_row(&place, quota))
        return;
    place.row.left += left;
    give_row(&place);
}

unsigned mgds_quota_ask(const struct mgds_quota *quota)
{
    struct place place;
    unsigned left;

    if (!take_row(&place, quota))
        return 0;
    left = place.row.left;
    place.row.left = 0;
    give_row(&place);
    return left;
}
