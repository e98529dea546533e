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

void mgds_gate_setup(void)
{
    words = mgds_pinned(GATES * sizeof(*words));
    used = 0;
}

struct mgds_gate mgds_gate_new(void)
{
    struct mgds_gate gate = {used, 0};

    MUST(words && used < GATES);
    gate.word = (CUdeviceptr)(uintptr_t)&words[used++];
    return gate;
}

void mgds_gate_hold(struct mgds_gate gate, CUstream stream)
{
    held[gate.slot] = true;
    OK(cu.StreamWaitValue32(stream, gate.word, 1, CU_STREAM_WAIT_VALUE_GEQ));
}

void mgds_gate_open(struct mgds_gate gate)
{
    atomic_store(&words[gate.slot], 1);
}

void mgds_gate_open_all(void)
{
    for (unsigned i = 0; words && i < GATES; i++)
        atomic_store(&words[i], 1);
}

int mgds_gate_reset(void)
{
    int closed = 0;

    for (unsigned i = 0; i < used; i++) {
        closed += held[i] && atomic_load(&words[i]) == 0;
        atomic_store(&words[i], 1);
    }
    return closed;
}
