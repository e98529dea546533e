/* What is behind a bounce, for the files of this folder: a shell that is used
 * again, and what it stages at the moment. */
#ifndef MGDS_STAGE_SHELL_H
#define MGDS_STAGE_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/ptr.h"
#include "shim/gds/stage/bounce.h"
#include "shim/gds/stage/pool.h"
#include "shim/gds/stage/stage.h"

/* How a buffer is copied: decided once, when it is staged. */
enum mgds_way {
    MGDS_WAY_COPIES, /* few spans, a driver copy each */
    MGDS_WAY_KERNEL, /* one launch */
    MGDS_WAY_SPLIT,  /* a copy for each span: no kernel could be used */
};

struct mgds_bounce {
    struct mgds_bounce *next; /* of the idle, of the late */
    struct mgds_stage *stage; /* a reference while in use */
    bool queued;              /* something may be under way: */
    uint64_t ticket;          /* the last of it */
    uint64_t told;            /* which answer of the clock */
    uint64_t since; /* when it was queued, ns: of a small plain upload of which
                       nothing was said yet (uploads.h); or 0 */

    /* what is staged: user + offset and base + offset (mgds_offset_from) */
    char *user;
    char *base;
    struct mgds_piece *piece;
    struct mgds_ptr ptr;
    enum mgds_bounce_form form;
    enum mgds_way way;
    struct mgds_layout *layout; /* of all elements: flat, or a reference */
    struct mgds_layout flat;
    const void *table; /* KERNEL: nodes, in the piece */
    size_t nodes, grain;
};

/* The address so many bytes away. Offsets may be absolute addresses, and what
 * they are counted from then lies anywhere, outside of all memory too: C knows
 * no such pointers, integers wrap. */
static inline char *mgds_offset_from(const char *from, ptrdiff_t bytes)
{
    return (char *)((uintptr_t)from + (uintptr_t)bytes);
}

/* A shell for the stage: it takes the caller's reference over if it succeeds.
 * -ENOMEM. */
int mgds_shell_take(struct mgds_bounce **out, struct mgds_stage *stage);

/* Gives a shell back, with all that it holds; if work is under way, then when
 * that is done. */
void mgds_shell_give(struct mgds_bounce *shell);

/* The copies are over, with this error or not. Unless the context broke, what
 * cannot be asked for may still run (a capture of the program's forbids to
 * ask): then the piece is never used again. */
void mgds_shell_over(struct mgds_bounce *shell, int rc);

/* What was queued was looked at: the time that it takes may say how uploads are
 * made (uploads.h). */
void mgds_shell_heed_uploads(struct mgds_bounce *shell, bool over);

/* Whether what was queued is done: 1, 0, or the error of it. anew: by asking
 * the driver, whatever others were told. */
int mgds_shell_ask(struct mgds_bounce *shell, bool anew);

/* Before a stage is forgotten: gives back late shells whose work is done; true
 * if none is left, and then none will come. The caller has a reference. */
bool mgds_shell_close(struct mgds_stage *stage);

#endif
