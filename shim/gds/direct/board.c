/* Memory that says how far messages are; see board.h. */
#include "shim/gds/direct/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/alloc.h"
#include "shim/base/shm.h"

enum { STATE_BITS = 3, LINE = 64 };

/* A line of the cache each: senders poll theirs. */
struct slot {
    _Alignas(LINE) _Atomic uint64_t word; /* serial and state; 0: FREE */
};

struct shared {
    _Atomic uint32_t samples; /* a bit for each device: its sample is there */
    struct mgds_board_sample sample[MGDS_BOARD_DEVICES];
    struct slot slot[MGDS_BOARD_SLOTS];
    _Alignas(LINE) _Atomic uint64_t serving; /* written by the owner's calls */
    _Atomic uint32_t refused;                /* seldom written by receivers */
    struct of_rank {
        _Atomic uint32_t maps, shares; /* a bit for each device */
    } of_rank[];
};

struct mgds_board {
    struct shared *shared;
    size_t bytes;
    unsigned ranks;
    struct mgds_board_place place;
    _Atomic uint64_t serial; /* the last that was given */
};

static uint64_t word_of(uint64_t serial, enum mgds_slot_state state)
{
    return serial << STATE_BITS | (uint64_t)state;
}

static size_t bytes_of(unsigned ranks)
{
    return sizeof(struct shared) + ranks * sizeof(struct of_rank);
}

static int map_board(struct mgds_board *board, int fd)
{
    void *at = NULL;
    int rc = mgds_shm_map(&at, fd, 0, board->bytes);

    board->shared = (struct shared *)at;
    return rc;
}

static int fill_board(struct mgds_board *board, int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    board->place = (struct mgds_board_place){
        .inode = status.st_ino, .pid = (int32_t)getpid(), .memory = fd};
    return map_board(board, fd);
}

static struct mgds_board *new_board(unsigned ranks)
{
    struct mgds_board *board =
        (struct mgds_board *)mgds_calloc(1, sizeof(*board));

    if (!board)
        return NULL;
    board->ranks = ranks;
    board->bytes = bytes_of(ranks);
    board->place.memory = -1;
    return board;
}

int mgds_board_create(struct mgds_board **out, unsigned ranks)
{
    struct mgds_board *board = new_board(ranks);
    int fd, rc;

    if (!board)
        return -ENOMEM;
    fd = mgds_shm_create("mpix-gds-board", board->bytes);
    rc = fd < 0 ? fd : fill_board(board, fd);
    if (rc == 0) {
        *out = board;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    free(board);
    return rc;
}

struct mgds_board_place mgds_board_place(const struct mgds_board *board)
{
    return board->place;
}

/* As one of ours, if it is that very memory. */
static int open_memory(const struct mgds_board_place *place, size_t bytes)
{
    struct stat status;
    int fd;

    if (place->inode == 0)
        return -ESRCH;
    fd = mgds_shm_open(place->pid, place->memory, place->inode, O_RDWR);
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) < 0 || status.st_size != (off_t)bytes) {
        close(fd);
        return -ESRCH;
    }
    return fd;
}

int mgds_board_open(struct mgds_board **out,
                    const struct mgds_board_place *place, unsigned ranks)
{
    struct mgds_board *board = new_board(ranks);
    int fd, rc;

    if (!board)
        return -ENOMEM;
    fd = open_memory(place, board->bytes);
    rc = fd < 0 ? fd : map_board(board, fd);
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        *out = board;
    else
        free(board);
    return rc;
}

void mgds_board_close(struct mgds_board *board)
{
    if (!board)
        return;
    munmap(board->shared, board->bytes);
    if (board->place.memory >= 0)
        close(board->place.memory);
    free(board);
}

void mgds_board_post_sample(struct mgds_board *board, unsigned device,
                            const struct mgds_board_sample *sample)
{
    if (device >= MGDS_BOARD_DEVICES)
        return;
    board->shared->sample[device] = *sample;
    /* the sample is there before its bit */
    atomic_fetch_or_explicit(&board->shared->samples, 1u << device,
                             memory_order_release);
}

uint32_t mgds_board_samples(const struct mgds_board *board)
{
    return atomic_load_explicit(&board->shared->samples, memory_order_acquire);
}

bool mgds_board_find_sample(const struct mgds_board *board, unsigned device,
                            struct mgds_board_sample *out)
{
    if (device >= MGDS_BOARD_DEVICES ||
        (mgds_board_samples(board) >> device & 1) == 0)
        return false;
    *out = board->shared->sample[device];
    return true;
}

/* NULL: there is no such rank or device. */
static struct of_rank *of_rank(const struct mgds_board *board, unsigned rank,
                               unsigned device)
{
    return rank < board->ranks && device < MGDS_BOARD_DEVICES
               ? &board->shared->of_rank[rank]
               : NULL;
}

void mgds_board_show_mapped(struct mgds_board *board, unsigned rank,
                            unsigned device, bool shares)
{
    struct of_rank *words = of_rank(board, rank, device);

    if (!words)
        return;
    if (shares)
        atomic_fetch_or_explicit(&words->shares, 1u << device,
                                 memory_order_relaxed);
    /* what the rank needs for a header of the device stands before, and whether
     * it shares it */
    atomic_fetch_or_explicit(&words->maps, 1u << device, memory_order_release);
}

void mgds_board_hide_mapped(struct mgds_board *board, unsigned rank,
                            unsigned device)
{
    struct of_rank *words = of_rank(board, rank, device);

    if (words)
        atomic_fetch_and_explicit(&words->maps, ~(1u << device),
                                  memory_order_relaxed);
}

static bool is_set(const _Atomic uint32_t *bits, unsigned device)
{
    return (atomic_load_explicit(bits, memory_order_acquire) >> device & 1) !=
           0;
}

bool mgds_board_is_mapped(const struct mgds_board *board, unsigned rank,
                          unsigned device)
{
    struct of_rank *words = of_rank(board, rank, device);

    return words && is_set(&words->maps, device);
}

bool mgds_board_is_shared(const struct mgds_board *board, unsigned rank,
                          unsigned device)
{
    struct of_rank *words = of_rank(board, rank, device);

    return words && is_set(&words->shares, device);
}

/* Hints: who takes a message is settled by its slot. Release, so that a slot
 * that was taken in a pass is seen taken by who counts that pass. */
void mgds_board_serve(struct mgds_board *board, bool inside)
{
    if (inside)
        atomic_fetch_or_explicit(&board->shared->serving, 1,
                                 memory_order_release);
    else
        atomic_fetch_and_explicit(&board->shared->serving, ~UINT64_C(1),
                                  memory_order_release);
}

void mgds_board_pass(struct mgds_board *board)
{
    atomic_fetch_add_explicit(&board->shared->serving, 2, memory_order_release);
}

uint64_t mgds_board_serving(const struct mgds_board *board)
{
    return atomic_load_explicit(&board->shared->serving, memory_order_acquire);
}

int mgds_board_offer(struct mgds_board *board, uint64_t *serial)
{
    uint64_t next = atomic_fetch_add(&board->serial, 1) + 1;

    for (unsigned i = 0; i < MGDS_BOARD_SLOTS; i++) {
        unsigned slot = (unsigned)((next + i) % MGDS_BOARD_SLOTS);
        uint64_t empty = 0;

        /* The sender's memory is the receiver's to read from here on, once it
         * is told the serial, by the header, which is sent after this. */
        if (atomic_compare_exchange_strong(&board->shared->slot[slot].word,
                                           &empty,
                                           word_of(next, MGDS_SLOT_OFFERED))) {
            *serial = next;
            return (int)slot;
        }
    }
    return -ENOSPC;
}

enum mgds_slot_state mgds_board_state(const struct mgds_board *board,
                                      unsigned slot, uint64_t serial)
{
    uint64_t word;

    if (slot >= MGDS_BOARD_SLOTS)
        return MGDS_SLOT_FREE;
    word = atomic_load_explicit(&board->shared->slot[slot].word,
                                memory_order_acquire);
    if (word >> STATE_BITS != serial)
        return MGDS_SLOT_FREE;
    return (enum mgds_slot_state)(word & ((1u << STATE_BITS) - 1));
}

static bool move(struct mgds_board *board, unsigned slot, uint64_t serial,
                 enum mgds_slot_state from, enum mgds_slot_state to)
{
    uint64_t word = word_of(serial, from);

    /* Sequentially consistent: what the mover did to the sender's memory, or
     * to its copy of it, is over before the other end sees the new state. */
    return slot < MGDS_BOARD_SLOTS &&
           atomic_compare_exchange_strong(&board->shared->slot[slot].word,
                                          &word, word_of(serial, to));
}

/* A slot that is seen REFUSED is counted: before it is, until it is not. */
bool mgds_board_move(struct mgds_board *board, unsigned slot, uint64_t serial,
                     enum mgds_slot_state from, enum mgds_slot_state to)
{
    bool moved;

    if (to == MGDS_SLOT_REFUSED)
        atomic_fetch_add(&board->shared->refused, 1);
    moved = move(board, slot, serial, from, to);
    if ((moved ? from : to) == MGDS_SLOT_REFUSED)
        atomic_fetch_sub(&board->shared->refused, 1);
    return moved;
}

bool mgds_board_has_refused(const struct mgds_board *board)
{
    return atomic_load_explicit(&board->shared->refused,
                                memory_order_relaxed) != 0;
}

void mgds_board_free(struct mgds_board *board, unsigned slot)
{
    /* the owner has seen the end of the slot's use before */
    atomic_store_explicit(&board->shared->slot[slot].word, 0,
                          memory_order_release);
}
