/* Gates: pinned words, never used twice in a process. */
#include "gate.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "env.h"
#include "report.h"

#define GATES 8192

static _Atomic uint32_t *words;
static bool held[GATES];
static unsigned used;

void mgds_hwqueue_setup(void)
{
    words = mgds_pinned(GATES * sizeof(*words));
    used = 0;
}

struct mgds_hwqueue mgds_hwqueue_new(void)
{
    struct mgds_hwqueue gate = {used, 0};

    MUST(words && used < GATES);
    gate.word = (CUdeviceptr)(uintptr_t)&words[used++];
    return gate;
}

void mgds_hwqueue_hold(struct mgds_hwqueue gate, CUstream stream)
{
    held[gate.slot] = true;
    OK(cu.StreamWaitValue32(stream, gate.word, 1, CU_STREAM_WAIT_VALUE_GEQ));
}

void mgds_hwqueue_open(struct mgds_hwqueue gate)
{
    atomic_store(&words[gate.slot], 1);
}

void mgds_hwqueue_open_all(void)
{
    for (unsigned i = 0; words && i < GATES; i++)
        atomic_store(&words[i], 1);
}

int mgds_hwqueue_reset(void)
{
    int closed = 0;

    for (unsigned i = 0; i < used; i++) {
        closed += held[i] && atomic_load(&words[i]) == 0;
        atomic_store(&words[i], 1);
    }
    return closed;
}
