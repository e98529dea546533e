/*
 * The exported MPI_ and PMPI_ symbols, expanded from mpi_table.def: two
 * entries and two long ways each, and two own ways where we have a body. An
 * entry is what every MPI call of every host program runs: at most ten
 * instructions (tests/mpi/instructions.py), no stack frame, no thread-local
 * access, two or three loads and a jump.
 */
#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/nested.h"
#include "shim/pmpi/own.h"
#include "shim/pmpi/tail.h"

#define MGDS_EXPORT __attribute__((visibility("default")))

/* Requests with handles of our own are for us, from wherever they come. */
#define MGDS_IS_OURS(name, n)                                                  \
    mgds_nested_is_ours(MGDS_CALL_##name, (const mgds_word[]){MGDS_ARGS_##n})

#define MGDS_LONG_WAY(name, face, n)                                           \
    static __attribute__((noinline))                                           \
    mgds_word long_way_##face##_##name(MGDS_PARAMS_##n)                        \
    {                                                                          \
        struct mgds_frame frame = MGDS_FRAME_HERE;                             \
        mgds_next_fn *go =                                                     \
            mgds_frame_enter(&frame, MGDS_CALL_##name, MGDS_FACE_##face);      \
                                                                               \
        if (__builtin_expect(!frame.outermost, 0) && MGDS_IS_OURS(name, n))    \
            go = mgds_own_ways[MGDS_CALL_##name][MGDS_FACE_##face];            \
        return mgds_frame_leave(&frame, ((MGDS_FN(n) *)go)(MGDS_ARGS_##n));    \
    }

#define MGDS_CALL(name, n, family, mode)                                       \
    MGDS_LONG_WAY(name, MPI, n)                                                \
    MGDS_LONG_WAY(name, PMPI, n)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL

#define MGDS_LONG_WAYS(name)                                                   \
    [MGDS_CALL_##name] = {(mgds_next_fn *)long_way_MPI_##name,                 \
                          (mgds_next_fn *)long_way_PMPI_##name}

/* Filled by the loader rather than tested for NULL at every call. */
mgds_next_fn *mgds_shortcuts[MGDS_CALLS][MGDS_FACES] = {
#define MGDS_CALL(name, n, family, mode) MGDS_LONG_WAYS(name),
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
};

mgds_next_fn *const mgds_long_ways[MGDS_CALLS][MGDS_FACES] = {
#define MGDS_CALL(name, n, family, mode) MGDS_LONG_WAYS(name),
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
};

/* The own way, for those whose bodies come into use while the program runs. */
#define MGDS_OWN_WAY(name, face, n)                                            \
    static __attribute__((noinline))                                           \
    mgds_word own_way_##face##_##name(MGDS_PARAMS_##n)                         \
    {                                                                          \
        uintptr_t stack = (uintptr_t)__builtin_frame_address(0);               \
        struct mgds_nested nested = {.inside = {.stack = 0}};                  \
        mgds_word result;                                                      \
                                                                               \
        if (__builtin_expect(mgds_frame_is_nested(stack), 0)) {                \
            if (!MGDS_IS_OURS(name, n))                                        \
                return ((MGDS_FN(n) *)mgds_next(                               \
                    MGDS_CALL_##name, MGDS_FACE_##face))(MGDS_ARGS_##n);       \
            mgds_nested_begin(&nested);                                        \
        }                                                                      \
        mgds_frame_begin(stack, MGDS_CALL_##name, MGDS_FACE_##face);           \
        result = mgds_frame_end(mgds_own_##name(MGDS_ARGS_##n));               \
        if (__builtin_expect(nested.inside.stack != 0, 0))                     \
            mgds_nested_end(&nested);                                          \
        return result;                                                         \
    }

#define MGDS_OWN_WAYS_PASS(name, n)
#define MGDS_OWN_WAYS_OWN(name, n)
#define MGDS_OWN_WAYS_STREAM(name, n) MGDS_OWN_WAYS_GPU(name, n)
#define MGDS_OWN_WAYS_REFUSE(name, n) MGDS_OWN_WAYS_GPU(name, n)
#define MGDS_OWN_WAYS_GPU(name, n)                                             \
    MGDS_OWN_WAY(name, MPI, n)                                                 \
    MGDS_OWN_WAY(name, PMPI, n)
#define MGDS_CALL(name, n, family, mode) MGDS_OWN_WAYS_##mode(name, n)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
#undef MGDS_OWN_WAYS_GPU

#define MGDS_OWN_WAYS_GPU(name, n)                                             \
    [MGDS_CALL_##name] = {(mgds_next_fn *)own_way_MPI_##name,                  \
                          (mgds_next_fn *)own_way_PMPI_##name},

mgds_next_fn *const mgds_own_ways[MGDS_CALLS][MGDS_FACES] = {
#define MGDS_CALL(name, n, family, mode) MGDS_OWN_WAYS_##mode(name, n)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
};

/* What an entry asks first, by mode: is there more to do than forwarding? */
#define MGDS_ASK_PASS false
#define MGDS_ASK_REFUSE mgds_presence_changed()
#define MGDS_ASK_GPU mgds_presence_changed()
#define MGDS_ASK_STREAM false
#define MGDS_ASK_OWN false

#define MGDS_ENTRY(name, face, n, mode)                                        \
    MGDS_EXPORT mgds_word face##_##name(MGDS_PARAMS_##n);                      \
    mgds_word face##_##name(MGDS_PARAMS_##n)                                   \
    {                                                                          \
        /* Acquire: what the definition's finder set up is seen by it. */      \
        mgds_next_fn *go = __atomic_load_n(                                    \
            &mgds_shortcuts[MGDS_CALL_##name][MGDS_FACE_##face],               \
            __ATOMIC_ACQUIRE);                                                 \
                                                                               \
        if (__builtin_expect(MGDS_ASK_##mode, 0))                              \
            MGDS_TAIL_RETURN long_way_##face##_##name(MGDS_ARGS_##n);          \
        MGDS_TAIL_RETURN((MGDS_FN(n) *)go)(MGDS_ARGS_##n);                     \
    }

#define MGDS_CALL(name, n, family, mode)                                       \
    MGDS_ENTRY(name, MPI, n, mode)                                             \
    MGDS_ENTRY(name, PMPI, n, mode)
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
