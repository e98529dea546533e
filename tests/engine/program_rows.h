/* Words for the rows of programs (program.h): calls, and operations. */
#ifndef MGDS_TEST_PROGRAM_ROWS_H
#define MGDS_TEST_PROGRAM_ROWS_H

#include "tests/engine/program.h"

#define END                                                                    \
    {                                                                          \
        .act = PROGRAM_END                                                     \
    }
#define START(number)                                                          \
    {                                                                          \
        .act = PROGRAM_START, .op = (number)                                   \
    }
#define RUN(number)                                                            \
    {                                                                          \
        .act = PROGRAM_RUN, .op = (number)                                     \
    }
#define WAIT(number, on)                                                       \
    {                                                                          \
        .act = PROGRAM_WAIT, .op = (number), .stream = (on)                    \
    }
#define WAIT2(number, on)                                                      \
    {                                                                          \
        .act = PROGRAM_WAIT2, .op = (number), .stream = (on)                   \
    }
#define TEST(number)                                                           \
    {                                                                          \
        .act = PROGRAM_TEST, .op = (number)                                    \
    }
#define CANCEL(number)                                                         \
    {                                                                          \
        .act = PROGRAM_CANCEL, .op = (number)                                  \
    }
#define PROBE(number)                                                          \
    {                                                                          \
        .act = PROGRAM_PROBE, .op = (number)                                   \
    }
#define MRECV(number)                                                          \
    {                                                                          \
        .act = PROGRAM_MRECV, .op = (number)                                   \
    }
#define FREE(number)                                                           \
    {                                                                          \
        .act = PROGRAM_FREE, .op = (number)                                    \
    }
#define GROUP(on)                                                              \
    {                                                                          \
        .act = PROGRAM_GROUP, .stream = (on)                                   \
    }
#define GROUP_END(on)                                                          \
    {                                                                          \
        .act = PROGRAM_GROUP_END, .stream = (on)                               \
    }

/* One send, number 0, from stream 0, and one receive, number 1, on stream 1 if
 * both are of one rank. */
#define SEND(size) .send = true, .other = 1, .bytes = (size)
#define RECV(size) .caller = 1, .stream = 1, .bytes = (size)
#define RECV2(size) RECV(size), .instead = true
/* Both on stream 0. */
#define SEND_SAME(size) .send = true, .bytes = (size)
#define RECV_SAME(size) .bytes = (size)
/* From the first rank's stream 0 to the other's. */
#define SEND_TO(size) .send = true, .bytes = (size)
#define RECV_FROM(size) .caller = 1, .bytes = (size)
/* A second message: number 2 to number 3, the same way or the other. */
#define RECV_2(size) RECV(size), .of = 2
#define SEND_BACK(size) .send = true, .caller = 1, .stream = 1, .bytes = (size)
#define RECV_BACK(size) .other = 1, .of = 2, .bytes = (size)
#define SEND_TO_BACK(size) .send = true, .caller = 1, .bytes = (size)
#define RECV_FROM_BACK(size) .of = 2, .bytes = (size)

/* Blocking calls that cross, each rank's in a group. */
#define GROUPED(size, back)                                                    \
    .pair = true,                                                              \
    .op = {{SEND_TO(size)},                                                    \
           {RECV_FROM(size)},                                                  \
           {SEND_TO_BACK(back)},                                               \
           {RECV_FROM_BACK(back)}},                                            \
    .call = {{GROUP(0), RUN(3), RUN(0), GROUP_END(0)},                         \
             {GROUP(0), RUN(1), RUN(2), GROUP_END(0)}}

#endif
