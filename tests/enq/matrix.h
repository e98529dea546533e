/* Matrices of rows in which a rank sends to the next one and receives from the
 * one before, each lap a message of its own: what their files share. */
#ifndef MGDS_TESTS_ENQ_MATRIX_H
#define MGDS_TESTS_ENQ_MATRIX_H

#include "tests/enq/enq.h"

enum { TAG = 3, NOBODYS_TAG = 4, LAPS = 3 };
enum { TO, FROM, BOTH };

/* The message of a lap. */
unsigned matrix_message(int lap);

/* LAPS buffers each: the messages, for the stream to copy from, and where a
 * lap's received message is kept. */
void matrix_buffers_open(struct enq_buffer *source, struct enq_buffer *kept,
                         size_t bytes);
void matrix_buffers_close(struct enq_buffer *source, struct enq_buffer *kept);

/* The whole program. run_rows runs the rows of arrays of a strength from least
 * to most: those of pairs in one case, of triples in the other. */
int matrix_main(int argc, char **argv, const char *group,
                void (*run_rows)(int least, int most));

#endif
