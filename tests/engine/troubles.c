/* Programs in which something goes wrong; see program.h. */
#include "tests/engine/hand_gpu.h"
#include "tests/engine/program_rows.h"

/* One message from the first rank to the second. */
#define PAIR(what, size)                                                       \
    .pair = true, .trouble = (what), .op = {{SEND_TO(size)}, {RECV_FROM(size)}}
/* From the first stream to the second. */
#define OWN(what, size) .trouble = (what), .op = {{SEND(size)}, {RECV(size)}}
/* One each way. */
#define BOTH(what, size, back)                                                 \
    .pair = true, .trouble = (what),                                           \
    .op = {{SEND_TO(size)},                                                    \
           {RECV_FROM(size)},                                                  \
           {SEND_TO_BACK(back)},                                               \
           {RECV_FROM_BACK(back)}},                                            \
    .call = {{START(3), RUN(0), WAIT(3, 0)}, {START(1), RUN(2), WAIT(1, 0)}}

#define RUN_RUN .call = {{RUN(0)}, {RUN(1)}}
#define START_START .call = {{START(0), WAIT(0, 0)}, {START(1), WAIT(1, 0)}}
#define RECV_TESTED .call = {{RUN(0)}, {START(1), TEST(1)}}
#define SEND_TESTED .call = {{START(0), TEST(0)}, {RUN(1)}}
#define RECV_FREED .call = {{RUN(0)}, {START(1), FREE(1)}}
#define SEND_FREED .call = {{START(0), FREE(0)}, {RUN(1)}}
#define ELSEWHERE .call = {{RUN(0)}, {START(1), WAIT(1, 1)}}

/* A message by all calls. */
#define CALLS(prefix, what, size)                                              \
    {.name = prefix "_run_run", .gaps = 1, PAIR(what, size), RUN_RUN},         \
        {.name = prefix "_start_start", PAIR(what, size), START_START},        \
        {.name = prefix "_recv_tested", PAIR(what, size), RECV_TESTED},        \
        {.name = prefix "_send_tested", PAIR(what, size), SEND_TESTED},        \
        {.name = prefix "_recv_freed", PAIR(what, size), RECV_FREED},          \
    {                                                                          \
        .name = prefix "_send_freed", PAIR(what, size), SEND_FREED             \
    }

/* One whose operations have a member more, each. */
#define ODD(prefix, what, size, sent, got, calls)                              \
    {                                                                          \
        .name = prefix, .pair = true, .trouble = (what),                       \
        .op = {{SEND_TO(size), sent}, {RECV_FROM(size), got}}, calls           \
    }
#define ANY(prefix, what, size, calls)                                         \
    {                                                                          \
        .name = prefix, .pair = true, .trouble = (what),                       \
        .op = {{SEND_TO(size)}, {RECV_FROM(size), .any = true}}, calls         \
    }

/* All ways, for ranks of which one is lost. */
#define LOSSES(prefix, what)                                                   \
    CALLS(prefix "_eager", what, PROGRAM_SHORT),                               \
        CALLS(prefix "_fragments", what, PROGRAM_MIDDLE),                      \
        CALLS(prefix "_rget", what, PROGRAM_LONG),                             \
        ODD(prefix "_sync", what, PROGRAM_LONG, .sync = true, .sync = false,   \
            RUN_RUN),                                                          \
        ODD(prefix "_host", what, PROGRAM_LONG, .host = true, .host = true,    \
            START_START),                                                      \
        ODD(prefix "_plain", what, PROGRAM_LONG, .plain = true, .plain = true, \
            TESTED),                                                           \
        ANY(prefix "_any", what, PROGRAM_SHORT, START_START),                  \
        {.name = prefix "_back",                                               \
         .pair = true,                                                         \
         .trouble = (what),                                                    \
         .op = {{SEND_TO_BACK(PROGRAM_LONG)}, {.bytes = PROGRAM_LONG}},        \
         .call = {{RUN(1)}, {RUN(0)}}},                                        \
        {.name = prefix "_cancelled",                                          \
         .pair = true,                                                         \
         .trouble = (what),                                                    \
         .op = {{SEND_TO(PROGRAM_SHORT)},                                      \
                {RECV_FROM(PROGRAM_SHORT)},                                    \
                {RECV_FROM(PROGRAM_SHORT), .instead = true}},                  \
         .call = {{RUN(0)}, {START(1), CANCEL(1), TEST(1), RUN(2)}}},          \
    {                                                                          \
        .name = prefix "_exchange", BOTH(what, PROGRAM_SHORT, PROGRAM_LONG)    \
    }
#define TESTED .call = {{START(0), TEST(0)}, {START(1), TEST(1)}}

/* Where waits end after a time: host calls are not waited for. */
#define TIMES(prefix, message)                                                 \
    {.name = prefix "_run_run", message, RUN_RUN},                             \
        {.name = prefix "_start_start", message, START_START},                 \
        {.name = prefix "_recv_freed", message, RECV_FREED},                   \
        {.name = prefix "_elsewhere", message, ELSEWHERE},                     \
        {.name = prefix "_send_alone", message, .call = {{RUN(0)}, {END}}},    \
    {                                                                          \
        .name = prefix "_recv_alone", message, .call = { {END}, {RUN(1)} }     \
    }

/* An order may be given: time passes. */
#define ORDERS(prefix, what)                                                   \
    {.name = prefix "_ordered",                                                \
     .ticks = 4,                                                               \
     .slow = true,                                                             \
     OWN(what, PROGRAM_LONG),                                                  \
     RUN_RUN},                                                                 \
    {                                                                          \
        .name = prefix "_behind", .ticks = 3, .slow = true, .trouble = (what), \
        .op = {{SEND(PROGRAM_LONG)},                                           \
               {RECV(PROGRAM_LONG)},                                           \
               {SEND(PROGRAM_SHORT)},                                          \
               {RECV_2(PROGRAM_SHORT)}},                                       \
        .call = {                                                              \
            {RUN(0), RUN(2)},                                                  \
            {START(1), START(3), WAIT(3, 1), WAIT(1, 1)}                       \
        }                                                                      \
    }

/* Calls that cross inside of groups. */
#define CROSSINGS(prefix, what)                                                \
    {.name = prefix "_grouped_short",                                          \
     .trouble = (what),                                                        \
     GROUPED(PROGRAM_SHORT, PROGRAM_SHORT)},                                   \
        {.name = prefix "_grouped_mixed",                                      \
         .trouble = (what),                                                    \
         GROUPED(PROGRAM_MIDDLE, PROGRAM_LONG)},                               \
    {                                                                          \
        .name = prefix "_grouped_long", .trouble = (what),                     \
        GROUPED(PROGRAM_LONG, PROGRAM_LONG)                                    \
    }

/* One message in parts: at both ends, or as the receiver alone needs it. */
#define LEAN(prefix, what)                                                     \
    {.name = prefix "_lean",                                                   \
     .scarce = HAND_SCARCE_STREAM,                                             \
     PAIR(what, PROGRAM_MIDDLE),                                               \
     RUN_RUN},                                                                 \
        {.name = prefix "_lean_tested",                                        \
         .scarce = HAND_SCARCE_STREAM,                                         \
         PAIR(what, PROGRAM_MIDDLE),                                           \
         RECV_TESTED},                                                         \
        {.name = prefix "_lean_freed",                                         \
         .scarce = HAND_SCARCE_STREAM,                                         \
         PAIR(what, PROGRAM_MIDDLE),                                           \
         SEND_FREED},                                                          \
        {.name = prefix "_lean_recv",                                          \
         .scarce = HAND_SCARCE_LATER,                                          \
         PAIR(what, PROGRAM_MIDDLE),                                           \
         START_START},                                                         \
    {                                                                          \
        .name = prefix "_lean_both", .scarce = HAND_SCARCE_STREAM,             \
        BOTH(what, PROGRAM_MIDDLE, PROGRAM_MIDDLE)                             \
    }

static const struct program programs[] = {
    CALLS("refused", PROGRAM_UNREADABLE, PROGRAM_LONG),
    ANY("refused_any", PROGRAM_UNREADABLE, PROGRAM_LONG, RUN_RUN),
    {.name = "refused_truncated",
     .pair = true,
     .trouble = PROGRAM_UNREADABLE,
     .op = {{SEND_TO(PROGRAM_LONG)}, {RECV_FROM(PROGRAM_LONG / 2 + 1)}},
     RUN_RUN},
    {.name = "refused_scarce",
     .scarce = HAND_SCARCE_LATER,
     PAIR(PROGRAM_UNREADABLE, PROGRAM_LONG),
     RUN_RUN},
    {.name = "refused_exchange",
     BOTH(PROGRAM_UNREADABLE, PROGRAM_LONG, PROGRAM_LONG)},
    {.name = "forbidden_run_run",
     PAIR(PROGRAM_FORBIDDEN, PROGRAM_LONG),
     RUN_RUN},
    {.name = "forbidden_start_start",
     PAIR(PROGRAM_FORBIDDEN, PROGRAM_LONG),
     START_START},
    {.name = "forbidden_recv_tested",
     PAIR(PROGRAM_FORBIDDEN, PROGRAM_LONG),
     RECV_TESTED},
    {.name = "forbidden_send_tested",
     PAIR(PROGRAM_FORBIDDEN, PROGRAM_LONG),
     SEND_TESTED},
    LOSSES("cut", PROGRAM_CUT),
    LOSSES("dies", PROGRAM_DIES),
    LEAN("cut", PROGRAM_CUT),
    LEAN("dies", PROGRAM_DIES),
    {.name = "timed_lean",
     .scarce = HAND_SCARCE_STREAM,
     PAIR(PROGRAM_TIMED, PROGRAM_MIDDLE),
     RUN_RUN},
    {.name = "timed_lean_freed",
     .scarce = HAND_SCARCE_STREAM,
     PAIR(PROGRAM_TIMED, PROGRAM_MIDDLE),
     SEND_FREED},
    {.name = "timed_lean_recv",
     .scarce = HAND_SCARCE_LATER,
     PAIR(PROGRAM_TIMED, PROGRAM_MIDDLE),
     START_START},
    {.name = "timed_lean_both",
     .scarce = HAND_SCARCE_STREAM,
     BOTH(PROGRAM_TIMED, PROGRAM_MIDDLE, PROGRAM_MIDDLE)},
    LEAN("deaf", PROGRAM_DEAF),
    LEAN("unreadable", PROGRAM_UNREADABLE),
    {.name = "wordless_lean",
     .scarce = HAND_SCARCE_STREAM,
     PAIR(PROGRAM_WORDLESS, PROGRAM_MIDDLE),
     RUN_RUN},
    {.name = "stalled_lean",
     .ticks = 4,
     .slow = true,
     .scarce = HAND_SCARCE_STREAM,
     OWN(PROGRAM_STALLED, PROGRAM_MIDDLE),
     RUN_RUN},
    {.name = "stalled_to_host",
     .ticks = 3,
     .slow = true,
     .trouble = PROGRAM_STALLED,
     .op = {{SEND(PROGRAM_LONG)},
            {RECV(PROGRAM_LONG), .host = true, .plain = true}},
     RECV_TESTED},
    {.name = "wordless_eager", PAIR(PROGRAM_WORDLESS, PROGRAM_SHORT), RUN_RUN},
    {.name = "wordless_rget", PAIR(PROGRAM_WORDLESS, PROGRAM_LONG), RUN_RUN},
    TIMES("timed_eager", PAIR(PROGRAM_TIMED, PROGRAM_SHORT)),
    TIMES("timed_fragments", PAIR(PROGRAM_TIMED, PROGRAM_MIDDLE)),
    TIMES("timed_rget", PAIR(PROGRAM_TIMED, PROGRAM_LONG)),
    TIMES("timed_own", OWN(PROGRAM_TIMED, PROGRAM_LONG)),
    ODD("timed_sync", PROGRAM_TIMED, PROGRAM_SHORT, .sync = true, .sync = false,
        RUN_RUN),
    ORDERS("deaf", PROGRAM_DEAF),
    {.name = "deaf_tested",
     .ticks = 3,
     .slow = true,
     OWN(PROGRAM_DEAF, PROGRAM_LONG),
     RECV_TESTED},
    ORDERS("stalled", PROGRAM_STALLED),
    CROSSINGS("unreadable", PROGRAM_UNREADABLE),
    CROSSINGS("cut", PROGRAM_CUT),
    CROSSINGS("dies", PROGRAM_DIES),
    CROSSINGS("timed", PROGRAM_TIMED),
};

const struct program_set program_troubled = {
    "troubled", programs, sizeof(programs) / sizeof(programs[0])};
