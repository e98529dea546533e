/* What tests of streams work with: streams of a program, words that its streams
 * and the CPU tell each other, and puts of one list. */
#ifndef MGDS_TEST_QUEUE_PLACE_H
#define MGDS_TEST_QUEUE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/queue/gstream.h"
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

/* An object of a stream that is there. */
struct mgds_gstream *queue_gstream_of(CUstream native);

/* Lines of words of a stream's. */
uint64_t *queue_take(struct mgds_gstream *stream);
void queue_give(struct mgds_gstream *stream, uint64_t *line);

uint64_t queue_read(const uint64_t *word);
void queue_write(uint64_t *word, uint64_t value);

/* Waits until the word is at least value; the test fails after a minute. */
void queue_await(const uint64_t *word, uint64_t value);

struct mgds_step queue_pack(struct mgds_bounce *bounce);
struct mgds_step queue_unpack(struct mgds_bounce *bounce, uint64_t *limit);
struct mgds_step queue_flag(uint64_t *word, uint64_t value);
struct mgds_step queue_wait(uint64_t *word, uint64_t value);

/* Takes a ticket and puts: all steps are on the stream. */
void queue_put(struct mgds_gstream *stream, struct mgds_step *steps,
               unsigned count);

/* Lets a stream of the program's wait until the gate's word is 1, by the
 * program's own means. */
void queue_hold(CUstream native, uint64_t *gate);

#endif
