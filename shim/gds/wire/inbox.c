/* Rings between the processes of a host; see inbox.h. */
#include "shim/gds/wire/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/base/shm.h"

#define MAGIC UINT64_C(0x786f626e6973676d) /* mgsinbox */

enum {
    VERSION = 1,
    LINE = 64,
    WORD_BITS = 64,
    WORDS = MGDS_INBOX_RINGS / WORD_BITS,
    PAGE = 4096,
    UNIT = 8, /* records begin at multiples */
    PATH_BYTES = 64
};

enum { FREE, USED, CLOSED }; /* stages of a ring */

/* Who writes a ring. `process` goes from 0 by exchange; `from` is there when
 * stage is USED. */
struct writer {
    _Atomic uint64_t process;
    _Atomic uint32_t stage;
    struct mgds_inbox_place from;
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct front {
    uint64_t magic, process; /* constant */
    _Alignas(LINE) _Atomic uint32_t closed;
    _Alignas(LINE) _Atomic uint32_t asleep;
    _Alignas(LINE) _Atomic uint64_t due[WORDS];
    _Alignas(LINE) struct writer writer[MGDS_INBOX_RINGS];
};

struct ring {
    _Alignas(LINE) _Atomic uint64_t head; /* the writer's: bytes written */
    _Alignas(LINE) _Atomic uint64_t tail; /* the owner's: bytes done with */
    _Alignas(PAGE) char data[MGDS_INBOX_RING_BYTES];
};

struct house {
    struct front front;
    _Alignas(PAGE) struct ring ring[MGDS_INBOX_RINGS];
};

struct mgds_inbox {
    struct house *house;
    struct mgds_inbox_place place;
    int bell_read; /* place has the other end */
};

struct mgds_outbox {
    struct front *front;
    struct ring *ring;
    struct mgds_inbox_place place;
    unsigned index;
    int bell;
    uint64_t head; /* bytes written */
};

static uint64_t units_of(uint64_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static uint64_t whole_of(const struct mgds_inbox_record *record)
{
    return sizeof(*record) + units_of(record->bytes);
}

/* A ring's bytes at a count, which may go over its end. */
static void copy_in(struct ring *ring, uint64_t at, const void *from,
                    size_t bytes)
{
    size_t begin = at % MGDS_INBOX_RING_BYTES;
    size_t first = MGDS_INBOX_RING_BYTES - begin;

    if (first > bytes)
        first = bytes;
    if (first > 0)
        memcpy(ring->data + begin, from, first);
    if (bytes > first)
        memcpy(ring->data, (const char *)from + first, bytes - first);
}

static void copy_out(const struct ring *ring, uint64_t at, void *to,
                     size_t bytes)
{
    size_t begin = at % MGDS_INBOX_RING_BYTES;
    size_t first = MGDS_INBOX_RING_BYTES - begin;

    if (first > bytes)
        first = bytes;
    if (first > 0)
        memcpy(to, ring->data + begin, first);
    if (bytes > first)
        memcpy((char *)to + first, ring->data, bytes - first);
}

static int find_inodes(struct mgds_inbox_place *place)
{
    struct stat memory, bell;

    if (fstat(place->memory, &memory) < 0 || fstat(place->bell, &bell) < 0)
        return -errno;
    place->memory_inode = memory.st_ino;
    place->bell_inode = bell.st_ino;
    return 0;
}

/* What was opened is -1 or not, and closed by destroy. */
static int fill_inbox(struct mgds_inbox *inbox)
{
    int ends[2];
    void *house = NULL;
    int rc = mgds_shm_create("mpix-gds-inbox", sizeof(struct house));

    if (rc < 0)
        return rc;
    inbox->place.memory = rc;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    inbox->bell_read = ends[0];
    inbox->place.bell = ends[1];
    rc = mgds_shm_map(&house, inbox->place.memory, 0, sizeof(struct house));
    if (rc < 0)
        return rc;
    inbox->house = (struct house *)house;
    return find_inodes(&inbox->place);
}

int mgds_inbox_create(struct mgds_inbox **out, uint64_t process, uint64_t host)
{
    struct mgds_inbox *inbox = mgds_calloc(1, sizeof(*inbox));
    int rc;

    if (!inbox)
        return -ENOMEM;
    inbox->bell_read = -1;
    inbox->place = (struct mgds_inbox_place){.host = host,
                                             .pid = (int32_t)getpid(),
                                             .memory = -1,
                                             .bell = -1,
                                             .version = VERSION};
    rc = fill_inbox(inbox);
    if (rc < 0) {
        mgds_inbox_destroy(inbox);
        return rc;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    inbox->house->front.process = process;
    inbox->house->front.magic = MAGIC;
    *out = inbox;
    return 0;
}

void mgds_inbox_destroy(struct mgds_inbox *inbox)
{
    if (!inbox)
        return;
    if (inbox->house) {
        /* who looks at it writes no more; nothing need be visible before */
        atomic_store(&inbox->house->front.closed, 1);
        munmap(inbox->house, sizeof(struct house));
    }
    if (inbox->bell_read >= 0)
        close(inbox->bell_read);
    if (inbox->place.bell >= 0)
        close(inbox->place.bell);
    if (inbox->place.memory >= 0)
        close(inbox->place.memory);
    free(inbox);
}

const struct mgds_inbox_place *mgds_inbox_place(const struct mgds_inbox *inbox)
{
    return &inbox->place;
}

int mgds_inbox_bell(const struct mgds_inbox *inbox)
{
    return inbox->bell_read;
}

static bool any_due(const struct front *front)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (atomic_load(&front->due[i]) != 0)
            return true;
    return false;
}

/* The owner says that it sleeps, then looks at what is due; a writer says what
 * is due, then looks whether the owner sleeps. One of them sees the other: all
 * four accesses are sequentially consistent. */
bool mgds_inbox_doze(struct mgds_inbox *inbox)
{
    struct front *front = &inbox->house->front;

    atomic_store(&front->asleep, 1);
    if (!any_due(front))
        return true;
    atomic_store(&front->asleep, 0);
    return false;
}

void mgds_inbox_wake(struct mgds_inbox *inbox)
{
    char rings[LINE];

    atomic_store(&inbox->house->front.asleep, 0);
    while (read(inbox->bell_read, rings, sizeof(rings)) > 0)
        ;
}

int mgds_inbox_due(struct mgds_inbox *inbox)
{
    struct front *front = &inbox->house->front;

    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t due =
            atomic_load_explicit(&front->due[i], memory_order_relaxed);
        unsigned bit;

        if (due == 0)
            continue;
        bit = (unsigned)__builtin_ctzll(due);
        /* from here on the writer's next word comes after our look at head */
        atomic_fetch_and(&front->due[i], ~(UINT64_C(1) << bit));
        return (int)(i * WORD_BITS + bit);
    }
    return -1;
}

static void set_due(struct front *front, unsigned ring)
{
    atomic_fetch_or(&front->due[ring / WORD_BITS], UINT64_C(1)
                                                       << (ring % WORD_BITS));
}

void mgds_inbox_again(struct mgds_inbox *inbox, unsigned ring)
{
    set_due(&inbox->house->front, ring);
}

int mgds_inbox_next(const struct mgds_inbox *inbox, unsigned ring,
                    struct mgds_inbox_record *record)
{
    const struct ring *it = &inbox->house->ring[ring];
    uint64_t tail = atomic_load_explicit(&it->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&it->head, memory_order_acquire);

    if (head == tail)
        return 0;
    if (head - tail > MGDS_INBOX_RING_BYTES || head - tail < sizeof(*record))
        return -EPROTO;
    copy_out(it, tail, record, sizeof(*record));
    if (record->bytes > MGDS_INBOX_MOST || whole_of(record) > head - tail)
        return -EPROTO;
    return 1;
}

void mgds_inbox_read(const struct mgds_inbox *inbox, unsigned ring, void *to,
                     size_t bytes)
{
    const struct ring *it = &inbox->house->ring[ring];
    uint64_t tail = atomic_load_explicit(&it->tail, memory_order_relaxed);

    copy_out(it, tail + sizeof(struct mgds_inbox_record), to, bytes);
}

void mgds_inbox_pop(struct mgds_inbox *inbox, unsigned ring,
                    const struct mgds_inbox_record *record)
{
    struct ring *it = &inbox->house->ring[ring];
    uint64_t tail = atomic_load_explicit(&it->tail, memory_order_relaxed);

    /* all that was read of it must have been: the writer overwrites it */
    atomic_store_explicit(&it->tail, tail + whole_of(record),
                          memory_order_release);
}

static const struct writer *writer_of(const struct mgds_inbox *inbox,
                                      unsigned ring)
{
    return &inbox->house->front.writer[ring];
}

uint64_t mgds_inbox_writer(const struct mgds_inbox *inbox, unsigned ring)
{
    const struct writer *writer = writer_of(inbox, ring);

    if (atomic_load_explicit(&writer->stage, memory_order_acquire) == FREE)
        return 0;
    return atomic_load(&writer->process);
}

/* A process that has died has no descriptors, though its parent may not have
 * waited for it; one that was stopped has. What cannot be asked for another
 * reason is taken for alive. */
static bool has_memory(const struct mgds_inbox_place *place)
{
    char path[PATH_BYTES];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", place->pid, place->memory);
    if (stat(path, &status) < 0)
        return errno != ENOENT && errno != ESRCH;
    return status.st_ino == place->memory_inode;
}

bool mgds_inbox_over(const struct mgds_inbox *inbox, unsigned ring, bool look)
{
    const struct writer *writer = writer_of(inbox, ring);
    uint32_t stage = atomic_load_explicit(&writer->stage, memory_order_acquire);

    return stage == CLOSED ||
           (look && stage == USED && !has_memory(&writer->from));
}

void mgds_inbox_free(struct mgds_inbox *inbox, unsigned ring)
{
    struct ring *it = &inbox->house->ring[ring];
    struct writer *writer = &inbox->house->front.writer[ring];

    /* who takes it next, by the exchange of process, finds it empty */
    atomic_store(&it->tail, atomic_load(&it->head));
    atomic_store(&writer->stage, FREE);
    atomic_store(&writer->process, 0);
}

static int open_memory(const struct mgds_inbox_place *place, uint64_t process)
{
    uint64_t found[2] = {0, 0}; /* what a front begins with */
    int fd;

    if (place->version != VERSION)
        return -EPROTO;
    fd = mgds_shm_open(place->pid, place->memory, place->memory_inode, O_RDWR);
    if (fd < 0)
        return fd;
    if (pread(fd, found, sizeof(found), 0) != (ssize_t)sizeof(found) ||
        found[0] != MAGIC || found[1] != process) {
        close(fd);
        return -ESRCH;
    }
    return fd;
}

int mgds_inbox_reach(const struct mgds_inbox_place *place, uint64_t process)
{
    int fd = open_memory(place, process);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/* A ring that was nobody's. */
static int take_ring(struct front *front, const struct mgds_inbox *mine)
{
    uint64_t process = mine->house->front.process;

    for (unsigned n = 0; n < MGDS_INBOX_RINGS; n++) {
        unsigned i = (unsigned)((process + n) % MGDS_INBOX_RINGS);
        struct writer *writer = &front->writer[i];
        uint64_t none = 0;

        if (!atomic_compare_exchange_strong(&writer->process, &none, process))
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        writer->from = mine->place;
        /* from must be visible: the owner looks there whether we live */
        atomic_store_explicit(&writer->stage, USED, memory_order_release);
        return (int)i;
    }
    return -EUSERS;
}

static int map_ring(struct mgds_outbox *outbox, int fd,
                    const struct mgds_inbox *mine)
{
    void *at = NULL;
    int rc = mgds_shm_map(&at, fd, 0, sizeof(struct front));

    if (rc < 0)
        return rc;
    outbox->front = (struct front *)at;
    rc = take_ring(outbox->front, mine);
    if (rc < 0)
        return rc;
    outbox->index = (unsigned)rc;
    rc = mgds_shm_map(&at, fd,
                      (off_t)(offsetof(struct house, ring) +
                              outbox->index * sizeof(struct ring)),
                      sizeof(struct ring));
    if (rc < 0)
        return rc;
    outbox->ring = (struct ring *)at;
    outbox->head = atomic_load(&outbox->ring->head);
    return 0;
}

int mgds_outbox_open(struct mgds_outbox **out,
                     const struct mgds_inbox_place *place, uint64_t process,
                     const struct mgds_inbox *mine)
{
    struct mgds_outbox *outbox = mgds_calloc(1, sizeof(*outbox));
    int fd;
    int rc;

    if (!outbox)
        return -ENOMEM;
    outbox->place = *place;
    outbox->bell = -1;
    fd = open_memory(place, process);
    rc = fd < 0 ? fd : map_ring(outbox, fd, mine);
    if (fd >= 0)
        close(fd);
    /* For reading too: so writing never meets a pipe that nobody reads. */
    if (rc == 0)
        rc = outbox->bell =
            mgds_shm_open(place->pid, place->bell, place->bell_inode, O_RDWR);
    if (rc < 0) {
        mgds_outbox_close(outbox);
        return rc;
    }
    *out = outbox;
    return 0;
}

/* The owner may be asleep: it finds the bit when it wakes. */
static void wake_owner(struct mgds_outbox *outbox)
{
    const char one = 1;

    set_due(outbox->front, outbox->index);
    if (outbox->bell < 0 || atomic_load(&outbox->front->asleep) == 0 ||
        atomic_exchange(&outbox->front->asleep, 0) == 0)
        return;
    /* Full means that it rings already. */
    if (write(outbox->bell, &one, sizeof(one)) < 0 && errno != EAGAIN)
        mgds_warn_once("another process of this host cannot be woken: %m");
}

void mgds_outbox_close(struct mgds_outbox *outbox)
{
    if (!outbox)
        return;
    if (outbox->ring) {
        /* all records must be visible: the ring is given away behind them */
        atomic_store_explicit(&outbox->front->writer[outbox->index].stage,
                              CLOSED, memory_order_release);
        wake_owner(outbox);
        munmap(outbox->ring, sizeof(struct ring));
    }
    if (outbox->front)
        munmap(outbox->front, sizeof(struct front));
    if (outbox->bell >= 0)
        close(outbox->bell);
    free(outbox);
}

int mgds_outbox_room(struct mgds_outbox *outbox)
{
    uint64_t tail =
        atomic_load_explicit(&outbox->ring->tail, memory_order_acquire);
    uint64_t used = outbox->head - tail;
    int room;

    if (used > MGDS_INBOX_RING_BYTES)
        return -1;
    room = (int)(MGDS_INBOX_RING_BYTES - used) -
           (int)sizeof(struct mgds_inbox_record);
    return room < MGDS_INBOX_MOST ? room : MGDS_INBOX_MOST;
}

void mgds_outbox_put(struct mgds_outbox *outbox,
                     const struct mgds_inbox_record *record, const void *bytes)
{
    struct ring *ring = outbox->ring;

    copy_in(ring, outbox->head, record, sizeof(*record));
    copy_in(ring, outbox->head + sizeof(*record), bytes, record->bytes);
    outbox->head += whole_of(record);
    /* the record must be visible, whole: the owner reads up to head */
    atomic_store_explicit(&ring->head, outbox->head, memory_order_release);
    wake_owner(outbox);
}

bool mgds_outbox_lives(const struct mgds_outbox *outbox)
{
    return atomic_load(&outbox->front->closed) == 0 &&
           has_memory(&outbox->place);
}
