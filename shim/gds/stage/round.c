/* Several bounces copied at once; see round.h. */
#include "shim/gds/stage/round.h"

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/tls.h"

static MGDS_TLS struct {
    bool open;
    unsigned copies;          /* asked for since it was */
    struct mgds_stage *stage; /* a reference: its context was entered */
} thread;

/* What cannot be marked now is marked by the poll that needs it. */
static void leave_stage(void)
{
    if (!thread.stage)
        return;
    if (thread.copies > 1)
        (void)mgds_clock_mark(&thread.stage->clock);
    thread.copies = 0;
    mgds_context_leave();
    mgds_stage_put(thread.stage);
    thread.stage = NULL;
}

void mgds_round_begin(void)
{
    thread.open = true;
}

void mgds_round_end(void)
{
    leave_stage();
    thread.open = false;
}

int mgds_round_enter(struct mgds_stage *stage)
{
    int rc = 0;

    if (thread.stage != stage) {
        leave_stage();
        rc = mgds_context_enter(stage->ctx);
    }
    if (rc < 0 || !thread.open)
        return rc;
    if (!thread.stage)
        thread.stage = mgds_stage_get(stage);
    thread.copies++;
    return 0;
}

void mgds_round_leave(void)
{
    if (!thread.open)
        mgds_context_leave();
}
