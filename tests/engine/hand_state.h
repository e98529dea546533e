/* The inside of hand_gpu.h, for its files. */
#ifndef MGDS_TEST_HAND_STATE_H
#define MGDS_TEST_HAND_STATE_H

#include <pthread.h>

#include "device/abi.h"
#include "device/impl/mem.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/stream/claims.h"
#include "shim/gds/stream/order.h"
#include "shim/gds/stream/quits.h"
#include "tests/engine/hand_gpu.h"

enum { HAND_DEEP = 64 };

/* Beside the steps of gstream.h. */
enum hand_kind { HAND_STEP, HAND_TELL, HAND_UP, HAND_CALL };

struct hand_command {
    enum hand_kind kind;
    unsigned phase;
    unsigned serial;
    struct mgds_command step;
    struct mgds_gstream *stream; /* whose desk and cell it has */
    uint64_t *came;              /* TAKE: stored if the record is empty */
    uint64_t came_value;
    bool after_take;     /* FLAG: in one launch with a TAKE */
    bool hushed;         /* the same: its record has said so */
    uint64_t *to, *done; /* TELL */
    uint64_t number;
    size_t bytes;           /* UP */
    void (*run)(void *arg); /* CALL */
    void *arg;
    /* TAKE: where the message is, once that is known */
    uint64_t serial_found, from, length, form, source, done_word;
};

struct hand_queue {
    pthread_mutex_t lock;
    unsigned head, tail; /* under the lock; of all that ever were put */
    struct hand_command command[HAND_DEEP];
};

/* What a kernel that stands is at, of an order. */
struct hand_helper {
    unsigned phase;
    uint64_t number, last; /* of the order; of the last one looked at */
    struct mgds_claim *claim;
    uint64_t gen;
};

struct mgds_gstream {
    unsigned number, refs;
    struct mgds_context *context;
    struct hand_queue *queue, *ours;
    struct mgds_syncwords *words;
    struct mgds_desk *desk;
    struct mgds_orders orders;
    struct mgds_quits quits;
    struct mgds_claims claims;
    struct mgds_claim claim[MGDS_GSTREAM_CLAIMS];
    struct mgds_cell cell;
    struct hand_helper helper;
    pthread_mutex_t launch;
    pthread_cond_t turned;
    uint64_t ticket, turn;
    uint64_t came;    /* atomic: value of the last asked FLAG that it came to */
    int waits, error; /* waits: atomic */
    bool stalled;     /* atomic */
    struct mgds_timeline *timeline; /* atomic */
};

struct mgds_bounce {
    struct mgds_buffer user;
    size_t bytes;
    struct mgds_piece *piece; /* that it is in; or NULL */
    struct hand_queue *ours;
    unsigned refs, under_way; /* atomic: its owner and copies up; those */
};

/* Since hand_gpu_open. */
extern struct hand_trouble hand_troubles;
void hand_run_open(void);

static inline uint64_t hand_acquire(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Behind all that its writer has stored. */
static inline void hand_release(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void hand_raise(uint64_t *word, uint64_t value)
{
    uint64_t now = hand_acquire(word);

    while (now < value &&
           !__atomic_compare_exchange_n(word, &now, value, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

/* The first command of a queue, which only who steps it takes away; NULL: none.
 */
struct hand_command *hand_first(unsigned queue);
/* It is a kernel that waits. */
bool hand_stands(const struct hand_command *command);
/* The queue makes no step, whatever it is at. */
bool hand_is_kept(unsigned queue);
/* A step was made. */
void hand_follow(unsigned queue, unsigned what);

/* The queues in their order; NULL: there is none. */
extern struct hand_queue hand_queues[HAND_QUEUES];
extern struct mgds_gstream *hand_streams[HAND_STREAMS];

/* The command is put, with its serial. */
void hand_put(struct hand_queue *queue, const struct hand_command *command);

/* Whether any command that is queued names memory in [from, from + bytes). */
bool hand_names(const void *from, size_t bytes);

/* A reference less. */
void hand_bounce_put(struct mgds_bounce *bounce);

/* Bytes of a buffer, between its own memory and a row. */
void hand_pack(const struct mgds_bounce *bounce);
void hand_unpack(const struct mgds_bounce *bounce, size_t bytes);

/* Bytes go to the address by a command. */
void hand_copy(void *to, const void *from, size_t bytes);
void hand_count_copy(const void *to, size_t bytes);
/* From the units of a ring that begin there. */
void hand_copy_units(char *to, uint64_t from, size_t bytes);

/* None were copied. */
void hand_forget_copies(void);

/* What is out: for hand_gpu_close. */
void hand_memory_open(void);
void hand_memory_close(void);

#endif
