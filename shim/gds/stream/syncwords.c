/* Lines of words, out of pinned slabs; see syncwords.h. */
#include "shim/gds/stream/syncwords.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/gds/cuda/mem.h"

enum { LINE_BYTES = MGDS_WORDS_LINE * sizeof(uint64_t), SLAB_BYTES = 65536 };

struct slab {
    struct mgds_pinned *pinned;
    struct slab *next;
};

/* An idle line holds the next one in its first word. */
struct mgds_syncwords {
    struct mgds_context *ctx;
    struct mgds_lock lock;
    /* under lock */
    struct slab *slabs;
    uint64_t *idle;
};

static void push_locked(struct mgds_syncwords *words, uint64_t *line)
{
    line[0] = (uintptr_t)words->idle;
    words->idle = line;
}

static uint64_t *pop_locked(struct mgds_syncwords *words)
{
    uint64_t *line = words->idle;

    if (line)
        words->idle = (uint64_t *)(uintptr_t)line[0];
    return line;
}

static void add_slab(struct mgds_syncwords *words, struct slab *slab)
{
    char *base = (char *)slab->pinned->addr;

    mgds_lock_acquire(&words->lock);
    slab->next = words->slabs;
    words->slabs = slab;
    for (size_t at = slab->pinned->bytes; at >= LINE_BYTES; at -= LINE_BYTES)
        push_locked(words, (uint64_t *)(void *)(base + at - LINE_BYTES));
    mgds_lock_release(&words->lock);
}

/* Two threads may grow at the same time: then there are two slabs more. */
static int grow_slabs(struct mgds_syncwords *words)
{
    struct slab *slab = (struct slab *)mgds_calloc(1, sizeof(*slab));
    int rc;

    if (!slab)
        return -ENOMEM;
    rc = mgds_pinned_create(&slab->pinned, words->ctx, SLAB_BYTES);
    if (rc < 0) {
        free(slab);
        return rc;
    }
    add_slab(words, slab);
    return 0;
}

int mgds_syncwords_create(struct mgds_syncwords **out, struct mgds_context *ctx)
{
    struct mgds_syncwords *words =
        (struct mgds_syncwords *)mgds_calloc(1, sizeof(*words));
    int rc;

    if (!words)
        return -ENOMEM;
    rc = mgds_lock_init(&words->lock, MGDS_LOCK_SHORT);
    if (rc < 0) {
        free(words);
        return rc;
    }
    words->ctx = mgds_context_get(ctx);
    rc = grow_slabs(words);
    if (rc < 0)
        mgds_syncwords_destroy(words);
    else
        *out = words;
    return rc;
}

void mgds_syncwords_destroy(struct mgds_syncwords *words)
{
    struct slab *slab = words ? words->slabs : NULL;

    if (!words)
        return;
    while (slab) {
        struct slab *next = slab->next;

        mgds_pinned_destroy(slab->pinned);
        free(slab);
        slab = next;
    }
    mgds_lock_fini(&words->lock);
    mgds_context_put(words->ctx);
    free(words);
}

uint64_t *mgds_syncwords_take_idle(struct mgds_syncwords *words)
{
    uint64_t *line;

    mgds_lock_acquire(&words->lock);
    line = pop_locked(words);
    mgds_lock_release(&words->lock);
    if (line)
        memset(line, 0, LINE_BYTES);
    return line;
}

int mgds_syncwords_take(uint64_t **line, struct mgds_syncwords *words)
{
    int rc = 0;

    while ((*line = mgds_syncwords_take_idle(words)) == NULL && rc == 0)
        rc = grow_slabs(words);
    return rc;
}

void mgds_syncwords_give(struct mgds_syncwords *words, uint64_t *line)
{
    mgds_lock_acquire(&words->lock);
    push_locked(words, line);
    mgds_lock_release(&words->lock);
}
