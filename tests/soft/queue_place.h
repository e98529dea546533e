/* What tests of streams work with: streams of a program, words that its streams
 * and the CPU tell each other, and puts of one list. */
#ifndef MGDS_TEST_QUEUE_PLACE_H
#define MGDS_TEST_QUEUE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/stream/gstream.h"
#include "tests/soft/stage_place.h"

/* Forgets depots and stages, for cmocka. */
int queue_finish(void **state);

/* A stream of the program's and its object. */
struct queue_stream {
    CUstream native;
    struct mgds_gstream *gstream;
};

/* flags as of cuStreamCreate. */
void queue_open(struct queue_stream *stream, unsigned flags);
void queue_close(struct queue_stream *stream);

/* For cmocka: a sender's stream and a receiver's. Finishing closes both and
 * goes on as queue_finish does; before that takes that a failed test left,
 * which would stand for ever, are given up, and both streams are through. */
void queue_start_pair(void **state, struct queue_stream *out,
                      struct queue_stream *in);
void queue_quit_pair(const struct queue_stream *out,
                     const struct queue_stream *in);
int queue_finish_pair(void **state, struct queue_stream *out,
                      struct queue_stream *in);

/* An object of a stream that is there. */
struct mgds_gstream *queue_gstream_of(CUstream native);

/* Lines of words of a stream's. */
uint64_t *queue_take(struct mgds_gstream *stream);
void queue_give(struct mgds_gstream *stream, uint64_t *line);

/* So many claims of a stream's. */
void queue_claim(struct mgds_gstream *stream, struct mgds_claim **claims,
                 unsigned count);
void queue_unclaim(struct mgds_gstream *stream,
                   struct mgds_claim *const *claims, unsigned count);

uint64_t queue_read(const uint64_t *word);
void queue_write(uint64_t *word, uint64_t value);

/* Waits until the word is at least value; the test fails after a minute. */
void queue_await(const uint64_t *word, uint64_t value);

/* A word in GPU memory, by a copy that is waited for. */
uint64_t queue_get(CUdeviceptr word);

/* The claim of the take is for its message, which somebody has copied. */
void queue_assert_claimed(const struct mgds_command *take);

/* Waits until a kernel on the stream has served the order; the test fails after
 * a minute. */
void queue_await_served(struct mgds_gstream *stream, uint64_t order);

struct mgds_command queue_pack(struct mgds_bounce *bounce);
struct mgds_command queue_unpack(struct mgds_bounce *bounce, uint64_t *limit);
struct mgds_command queue_flag(uint64_t *word, uint64_t value);
struct mgds_command queue_wait(uint64_t *word, uint64_t value);

/* Takes a ticket and puts: all steps are on the stream. */
void queue_put(struct mgds_gstream *stream, struct mgds_command *steps,
               unsigned count);

/* GPU memory that the program freed, of a bounce that is still there. */
struct queue_freed {
    CUdeviceptr gpu;
    struct mgds_layout *layout;
    struct mgds_bounce *bounce;
};
void queue_freed_open(struct queue_freed *freed, struct mgds_gstream *stream,
                      size_t bytes);
void queue_freed_close(struct queue_freed *freed);

/* The take is for that memory. */
void queue_freed_take(const struct queue_freed *freed,
                      struct mgds_command *take);

/* Lets a stream of the program's wait until the gate's word is 1, by the
 * program's own means. */
void queue_hold(CUstream native, uint64_t *gate);

#endif
