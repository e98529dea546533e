/* What tests of long messages work with: memory of both ends, the words between
 * them, and what must become of it. One process plays both. */
#ifndef MGDS_TEST_QUEUE_PULL_H
#define MGDS_TEST_QUEUE_PULL_H

#include <stdint.h>

#include "device/abi.h"
#include "device/impl/mem.h"
#include "tests/soft/queue_place.h"

/* Bytes of each buffer: a message of many blocks, with room around it; units
 * that messages are posted in, and words of the sender, one for each. */
enum {
    PULL_AREA = 2 << 20,
    PULL_UNITS = 1024,
    PULL_MANY = (1 << 20) + 12345, /* bytes for all blocks that there are */
    PULL_SENT = 0,                 /* words of the line */
    PULL_TOOK = 1,
    PULL_READ = 2,
    PULL_FETCHED = 3,
    PULL_GATE = 4,
    PULL_AWAITED = 5,
};

struct pull_place {
    CUdeviceptr gpu; /* all of the following, one behind the other */
    CUdeviceptr src, dst, units, dones, idle;
    uint64_t *line, *record;
    struct queue_stream *out, *in; /* of the sender, and of the receiver */
    uint64_t serial, gen;          /* the last that were used */
    unsigned char *sent, *want;
};

/* Where in the buffers, how much is sent and how much is taken at most, and
 * which unit and word are its own. */
struct pull_message {
    size_t from, to, bytes, posted;
    unsigned unit;
};

/* Known bytes everywhere: dst has other ones than src. */
void pull_open(struct pull_place *place, struct queue_stream *out,
               struct queue_stream *in);
void pull_close(struct pull_place *place);

/* The next serial; what it leads to is expected from here on. */
void pull_expect(struct pull_place *place, const struct pull_message *message);

/* Steps of the message with the last serial. */
struct mgds_command pull_post(const struct pull_place *place,
                              const struct pull_message *message);
struct mgds_command pull_await(const struct pull_place *place,
                               const struct pull_message *message);
struct mgds_command pull_take(const struct pull_place *place,
                              const struct pull_message *message);

/* The same take with the next generation of a claim. */
struct mgds_command pull_claimed(struct pull_place *place,
                                 struct mgds_command take,
                                 struct mgds_claim *claim);

/* The same take, as the record will say, which says nothing yet. */
struct mgds_command pull_recorded(const struct pull_place *place,
                                  struct mgds_command take);

/* Tells the record what a take knows that was made without it; `first` of its
 * words first. A quiet one is of form QUIET. */
void pull_tell(const struct pull_place *place, const struct mgds_command *take,
               unsigned first);

/* A step, and the flag behind it, on a stream. */
void pull_put(struct mgds_gstream *stream, struct mgds_command step,
              uint64_t *word, uint64_t value);

/* The sender posts the message with the last serial, and waits until it was
 * read; the receiver takes it, and has it. */
void pull_put_post(const struct pull_place *place,
                   const struct pull_message *message);
void pull_await_read(const struct pull_place *place,
                     const struct pull_message *message);
void pull_put_take(const struct pull_place *place, struct mgds_command take);
void pull_await_taken(const struct pull_place *place);

/* Both streams are through, and all is as expected. */
void pull_finish(const struct pull_place *place);

uint64_t pull_done(const struct pull_place *place,
                   const struct pull_message *message);

/* Until a take owns its message, or somebody has copied it, too; the sender's
 * stream waits for that. */
void pull_await_owned(const struct pull_place *place,
                      const struct mgds_command *take);
void pull_await_claimed(const struct pull_place *place,
                        const struct mgds_command *take);

/* Stores a word that kernels look at, by a stream where nothing stands. */
void pull_set(const struct queue_stream *by, CUdeviceptr word, uint64_t value);

/* So long that a kernel that does not wait would be through. */
void pull_let_time_pass(const struct pull_place *place,
                        const struct queue_stream *by);

/* The message's bytes of dst and those around them, or all of them, are as
 * expected; no stream writes there any more. */
void pull_assert_near(const struct pull_place *place,
                      const struct pull_message *message);
void pull_assert(const struct pull_place *place);

#endif
