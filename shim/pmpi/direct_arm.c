/* When a rank looks for headers; see direct_arm.h. */
#include "shim/pmpi/direct_arm.h"

#include "shim/base/lock.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/context.h"
#include "shim/pmpi/frame.h"

enum state { IDLE, WAITING, ARMED, BARRED };

static struct mgds_lock arm_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
bool mgds_direct_is_armed; /* written under arm_lock, as the next two */
static enum state state;   /* atomic */
static bool is_shared;     /* atomic */

/* What a call begins that may meet a message: it outlasts the call, or blocks
 * in it. */
enum { OUTLASTS = 1, BLOCKS };
#define BOTH(name, what)                                                       \
    [MGDS_CALL_##name] = (what), [MGDS_CALL_##name##_c] = (what)
static const unsigned char begins[MGDS_CALLS] = {
    BOTH(Irecv, OUTLASTS),
    BOTH(Imrecv, OUTLASTS),
    BOTH(Isendrecv, OUTLASTS),
    BOTH(Isendrecv_replace, OUTLASTS),
    BOTH(Recv_init, OUTLASTS),
    BOTH(Recv, BLOCKS),
    BOTH(Mrecv, BLOCKS),
    BOTH(Sendrecv, BLOCKS),
    BOTH(Sendrecv_replace, BLOCKS),
    [MGDS_CALL_Probe] = BLOCKS,
    [MGDS_CALL_Mprobe] = BLOCKS};

static enum state look(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

/* Who sees ARMED sees that bodies are in use, whether CUDA is in the process or
 * not. */
static void set(enum state next)
{
    __atomic_store_n(&mgds_direct_is_armed, next == ARMED, __ATOMIC_SEQ_CST);
    __atomic_store_n(&state, next, __ATOMIC_RELEASE);
}

/* Behind that, or a thread opens one meanwhile (frame.c). */
static void close_shortcuts(void)
{
    mgds_frame_close_shortcuts();
    mgds_frame_close_for_streams();
}

void mgds_direct_arm_begin(bool waits, bool shared)
{
    bool armed;

    mgds_lock_acquire(&arm_lock);
    __atomic_store_n(&is_shared, shared, __ATOMIC_RELAXED);
    armed = state == IDLE && !waits;
    if (state == BARRED)
        mgds_count(direct_barred);
    else
        set(armed ? ARMED : WAITING);
    mgds_lock_release(&arm_lock);
    if (armed)
        close_shortcuts();
}

void mgds_direct_arm_end(void)
{
    mgds_lock_acquire(&arm_lock);
    set(IDLE);
    mgds_lock_release(&arm_lock);
}

/* Whether that has armed it. */
static bool leave_waiting(enum state next)
{
    bool left;

    mgds_lock_acquire(&arm_lock);
    left = state == WAITING || (state == IDLE && next == BARRED);
    if (left && next == BARRED && state == WAITING)
        mgds_count(direct_barred);
    if (left)
        set(next);
    mgds_lock_release(&arm_lock);
    return left && next == ARMED;
}

void mgds_direct_arm_by_gpu(void)
{
    if (look() == WAITING && leave_waiting(ARMED))
        close_shortcuts();
}

/* Whether threads share it is known when it is agreed on. */
static bool matters(enum mgds_call call, enum state now)
{
    return begins[call] == OUTLASTS ||
           (begins[call] == BLOCKS &&
            (now == IDLE || __atomic_load_n(&is_shared, __ATOMIC_RELAXED)));
}

void mgds_direct_arm_or_bar(enum mgds_call call)
{
    enum state now = look();

    if (now == ARMED || now == BARRED || !matters(call, now))
        return;
    if (leave_waiting(now == WAITING && mgds_context_is_any() ? ARMED : BARRED))
        close_shortcuts();
}
