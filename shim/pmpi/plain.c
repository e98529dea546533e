/* Calls that have nothing to do with us; see plain.h. */
#include "shim/pmpi/plain.h"

#include <assert.h>
#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/direct.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/kept.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/tail.h"

/* Nothing of ours is to be looked at but the buffer of a send, or buffers:
 * loads, no calls. */
static inline bool buffer_alone(void)
{
    return !mgds_scomms_any() && !mgds_requests_have_orphans();
}

/* Of a receive into memory of so many elements: no header can come, for what is
 * longer than the memory is in error, and no message that a probe has kept
 * (kept.h), now or in another thread. */
static inline bool meets_nothing(MPI_Count count, mgds_word type)
{
    size_t size = mgds_type_basic_size((MPI_Datatype)type);

    return !mgds_direct_armed() ||
           (count < MGDS_HEADER_BYTES &&
            (size_t)count * size < MGDS_HEADER_BYTES && !mgds_kept_any() &&
            !mgds_direct_is_shared());
}

/* The same of one that blocks, where no other is to be served meanwhile. */
static inline bool blocks_for_nothing(MPI_Count count, mgds_word type)
{
    return meets_nothing(count, type) &&
           (!mgds_direct_armed() || !mgds_requests_any());
}

/* How many words a function has, of the table. */
enum {
#define MGDS_CALL(name, n, family, mode) WORDS_##name = (n),
#include "shim/pmpi/mpi_table.def"
#undef MGDS_CALL
};

/* Its definition was found before it led here (frame.c). */
#define PLAIN_WAY(name, face, n, plain)                                        \
    static_assert(WORDS_##name == (n), "as the table has it");                 \
    static mgds_word plain_way_##face##_##name(MGDS_PARAMS_##n)                \
    {                                                                          \
        mgds_next_fn *go = NULL;                                               \
                                                                               \
        if (__builtin_expect(plain, 1))                                        \
            go = __atomic_load_n(                                              \
                &mgds_definitions[MGDS_CALL_##name][MGDS_FACE_##face],         \
                __ATOMIC_ACQUIRE);                                             \
        if (!go)                                                               \
            go = mgds_own_ways[MGDS_CALL_##name][MGDS_FACE_##face];            \
        MGDS_TAIL_RETURN((MGDS_FN(n) *)go)(MGDS_ARGS_##n);                     \
    }

/* X(name, words, when it is plain): the first words of a message are addr,
 * count, type and peer; a count is as wide as the call says. */
#define SENT(width) (buffer_alone() && mgds_plain_buffer(a, (width)b, c, d))
#define BEGUN(width) (meets_nothing((width)b, c) && SENT(width))
#define RECEIVED(width) (blocks_for_nothing((width)b, c) && SENT(width))
#define TWO(width)                                                             \
    (blocks_for_nothing((width)g, h) && SENT(width) &&                         \
     mgds_plain_buffer(f, (width)g, h, i))
#define REQUESTS (!mgds_requests_any())
#define PLAIN_CALLS(X)                                                         \
    X(Send, 6, SENT(int))                                                      \
    X(Send_c, 6, SENT(MPI_Count))                                              \
    X(Ssend, 6, SENT(int))                                                     \
    X(Ssend_c, 6, SENT(MPI_Count))                                             \
    X(Rsend, 6, SENT(int))                                                     \
    X(Rsend_c, 6, SENT(MPI_Count))                                             \
    X(Bsend, 6, SENT(int))                                                     \
    X(Bsend_c, 6, SENT(MPI_Count))                                             \
    X(Recv, 7, RECEIVED(int))                                                  \
    X(Recv_c, 7, RECEIVED(MPI_Count))                                          \
    X(Isend, 7, SENT(int))                                                     \
    X(Isend_c, 7, SENT(MPI_Count))                                             \
    X(Issend, 7, SENT(int))                                                    \
    X(Issend_c, 7, SENT(MPI_Count))                                            \
    X(Irsend, 7, SENT(int))                                                    \
    X(Irsend_c, 7, SENT(MPI_Count))                                            \
    X(Ibsend, 7, SENT(int))                                                    \
    X(Ibsend_c, 7, SENT(MPI_Count))                                            \
    X(Irecv, 7, BEGUN(int))                                                    \
    X(Irecv_c, 7, BEGUN(MPI_Count))                                            \
    X(Sendrecv, 12, TWO(int))                                                  \
    X(Sendrecv_c, 12, TWO(MPI_Count))                                          \
    X(Wait, 2, REQUESTS)                                                       \
    X(Test, 3, REQUESTS)                                                       \
    X(Waitall, 3, REQUESTS)                                                    \
    X(Testall, 4, REQUESTS)                                                    \
    X(Waitany, 4, REQUESTS)                                                    \
    X(Testany, 5, REQUESTS)                                                    \
    X(Waitsome, 5, REQUESTS)                                                   \
    X(Testsome, 5, REQUESTS)

#define X(name, n, plain)                                                      \
    PLAIN_WAY(name, MPI, n, plain)                                             \
    PLAIN_WAY(name, PMPI, n, plain)
PLAIN_CALLS(X)
#undef X

mgds_next_fn *const mgds_plain_ways[MGDS_CALLS][MGDS_FACES] = {
#define X(name, n, plain)                                                      \
    [MGDS_CALL_##name] = {(mgds_next_fn *)plain_way_MPI_##name,                \
                          (mgds_next_fn *)plain_way_PMPI_##name},
    PLAIN_CALLS(X)
#undef X
};
