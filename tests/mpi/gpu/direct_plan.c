/* What the ranks of gpu/direct.c do, drawn from a seed. */
#include "tests/mpi/gpu/direct_plan.h"

enum { HEADER = 160 };

static unsigned long long state;

void plan_seed(unsigned long long seed)
{
    state = seed * 7919 + 1;
}

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % below;
}

static size_t draw_length(void)
{
    static const size_t lengths[] = {0,    4,    156,  HEADER, HEADER, 164,
                                     4096, 5000, 5000, 70000,  LONGEST};

    return lengths[draw(sizeof(lengths) / sizeof(*lengths))];
}

/* Host memory gets half of it. */
static enum mgds_test_kind draw_kind(void)
{
    return draw(2) ? MGDS_TEST_DEVICE
                   : (enum mgds_test_kind)draw(MGDS_TEST_KINDS);
}

static size_t draw_posted(size_t sent)
{
    switch (draw(4)) {
    case 0:
        return sent + 400;
    case 1:
        return sent / 8 * 4;
    default:
        return sent;
    }
}

int plan_is_immediate(enum recv_form form)
{
    return form >= IRECV_WAIT && form <= RECV_INIT;
}

static void draw_plan(struct plan *plan, const struct batch *batch)
{
    plan->send = (enum send_form)draw(SEND_FORMS);
    plan->recv = (enum recv_form)draw(RECV_FORMS);
    plan->probe = (enum probe_form)draw(PROBE_FORMS);
    plan->out_kind = draw_kind();
    plan->in_kind = draw_kind();
    plan->out_device = (int)draw(2);
    plan->in_device = (int)draw(2);
    plan->out_shape = draw(3) ? BYTES : (enum shape)draw(SHAPES);
    plan->in_shape = draw(3) ? BYTES : (enum shape)draw(SHAPES);
    plan->sent = draw_length();
    plan->posted = draw_posted(plan->sent);
    plan->tag = batch->tag + (int)draw(2);
    plan->seed = (int)draw(250);
    plan->any_source = !draw(3);
    plan->any_tag = !plan->any_source && !draw(4);
    if (batch->posted_first && !plan_is_immediate(plan->recv))
        plan->recv = IRECV_WAIT;
    if (plan->send == RSEND && !batch->posted_first)
        plan->send = SEND;
    /* a persistent receive must not meet what a probe has kept */
    if (plan->recv == RECV_INIT || batch->posted_first)
        plan->probe = NO_PROBE;
}

void plan_draw(struct batch *batch, int lap)
{
    batch->tag = 2 * lap;
    batch->from = (int)draw((unsigned)gpu_size);
    batch->to = (int)draw((unsigned)gpu_size);
    batch->count = 1 + (int)draw(MOST);
    batch->posted_first = !draw(3);
    batch->comm = (int)draw(3);
    for (int i = 0; i < batch->count; i++)
        draw_plan(&batch->plan[i], batch);
}
