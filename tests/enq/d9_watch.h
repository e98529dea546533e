/*
 * What the cases of d9_watch.c and d9_dump.c share. What the library writes
 * goes to memory, the book, where cases look for the lines that they wait for,
 * and on to standard output.
 */
#ifndef MGDS_TESTS_ENQ_D9_WATCH_H
#define MGDS_TESTS_ENQ_D9_WATCH_H

#include "tests/enq/enq.h"

/* MUCH: what a book holds. */
enum { BYTES = 4096, MUCH = 1 << 16, TAG = 7 };

#define WHO "^mpix-gds\\[rank [01]\\]: warn: "
#define STANDS WHO "stream 0x[0-9a-f]+ stands for [0-9]+\\.[0-9] s at a "
#define SECONDS " stands for [0-9]+\\.[0-9] s at a "
#define COMM ", communicator \"halo\": "

#define RECEIVE                                                                \
    "receive from rank 0, tag 7, 4096 bytes" COMM                              \
    "no message from rank 0 has come$"

/* Before MPI is initialised. */
void book_open(void);

/* All that was written to a descriptor. */
void book_read(int fd, char text[MUCH]);

/* What was written so far. */
const char *book_text(void);

/* Matches of a regular expression, which do not overlap; in the book. */
int count_in(const char *text, const char *pattern);
int count(const char *pattern);

/* Until the book has so many of them. */
void await(const char *pattern, int lines);

/* A lane whose communicator is called "halo", and a full buffer. */
void open_named(struct enq_lane *lane, struct enq_buffer *b, size_t bytes);
void close_both(struct enq_lane *lane, struct enq_buffer *b);

/* The cases of d9_dump.c. */
void dumped_by_signal(void);
void dumped_by_call(void);
void dumps_of_nothing(void);
/* Its handler of SIGUSR2: before MPI is initialised. */
void handler_set(void);

#endif
