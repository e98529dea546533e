/* Shells: used again, kept while work is under way; see shell.h. */
#include "shim/gds/stage/shell.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"

void mgds_shell_over(struct mgds_bounce *shell, int rc)
{
    shell->queued = false;
    if (rc < 0 && rc != -EIO && rc != -ESHUTDOWN)
        shell->piece = NULL;
}

void mgds_shell_heed_uploads(struct mgds_bounce *shell, bool over)
{
    if (shell->since)
        mgds_uploads_observe(&shell->stage->uploads, &shell->since, over,
                             mgds_clock_ns());
}

int mgds_shell_ask(struct mgds_bounce *shell, bool anew)
{
    int rc;

    if (!shell->queued)
        return 1;
    rc = mgds_clock_poll(&shell->stage->clock, shell->ticket,
                         anew ? NULL : &shell->told);
    mgds_shell_heed_uploads(shell, rc != 0);
    if (rc != 0)
        mgds_shell_over(shell, rc);
    return rc;
}

/* What was staged is given back, and the shell waits for the next. The stage
 * stays: the caller has a reference. */
static void recycle(struct mgds_stage *stage, struct mgds_bounce *shell)
{
    if (shell->piece)
        mgds_pool_give(stage->pool, shell->piece);
    if (shell->layout != &shell->flat)
        mgds_layout_put(shell->layout);
    shell->piece = NULL;
    shell->layout = NULL;
    mgds_lock_acquire(&stage->lock);
    shell->next = stage->idle;
    stage->idle = shell;
    mgds_lock_release(&stage->lock);
}

/* False if the stage was closed. */
static bool put_late(struct mgds_stage *stage, struct mgds_bounce *shell)
{
    bool open;

    mgds_lock_acquire(&stage->lock);
    open = !stage->closed;
    if (open) {
        shell->next = stage->late;
        stage->late = shell;
    }
    mgds_lock_release(&stage->lock);
    return open;
}

static struct mgds_bounce *take_late(struct mgds_stage *stage)
{
    struct mgds_bounce *late;

    mgds_lock_acquire(&stage->lock);
    late = stage->late;
    stage->late = NULL;
    mgds_lock_release(&stage->lock);
    return late;
}

/* Gives back what a shell holds, its stage too. Without anybody to look after
 * it, work that is under way is waited for. */
void mgds_shell_give(struct mgds_bounce *shell)
{
    struct mgds_stage *stage = shell->stage;

    if (mgds_shell_ask(shell, true) == 0) {
        if (put_late(stage, shell))
            return;
        mgds_shell_over(shell, mgds_clock_sleep(&stage->clock, shell->ticket));
    }
    recycle(stage, shell);
    mgds_stage_put(stage);
}

/* Each late shell holds a reference to the stage, the caller another. */
static void reap(struct mgds_stage *stage)
{
    struct mgds_bounce *shell = take_late(stage);

    while (shell) {
        struct mgds_bounce *next = shell->next;

        mgds_shell_give(shell);
        shell = next;
    }
}

bool mgds_shell_close(struct mgds_stage *stage)
{
    bool closed;

    reap(stage);
    mgds_lock_acquire(&stage->lock);
    stage->closed = stage->late == NULL;
    closed = stage->closed;
    mgds_lock_release(&stage->lock);
    return closed;
}

static struct mgds_bounce *pop(struct mgds_stage *stage, bool *late)
{
    struct mgds_bounce *shell;

    mgds_lock_acquire(&stage->lock);
    shell = stage->idle;
    if (shell)
        stage->idle = shell->next;
    *late = stage->late != NULL;
    mgds_lock_release(&stage->lock);
    return shell;
}

int mgds_shell_take(struct mgds_bounce **out, struct mgds_stage *stage)
{
    bool late;
    struct mgds_bounce *shell = pop(stage, &late);

    if (!shell)
        shell = (struct mgds_bounce *)mgds_calloc(1, sizeof(*shell));
    if (late)
        reap(stage);
    if (!shell)
        return -ENOMEM;
    shell->stage = stage;
    *out = shell;
    return 0;
}
