/* Wraps the operation behind ibv_poll_cq. */
#include "sim/hca/front/inline.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

#include "sim/hca/front/file.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/front/user.h"

/* What libmlx5 has there, the same in each context: written under the lock
 * before the first wrapper is in place. */
static int (*poll_behind)(struct ibv_cq *cq, int entries, struct ibv_wc *wc);

static int poll_inline(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
{
    int found = poll_behind(cq, entries, wc);

    if (found != 0)
        return found;
    mgds_hca_pump_inline();
    return poll_behind(cq, entries, wc);
}

/* A program that gives commands without libibverbs may call its CQs anything:
 * a number, until the kernel has said that something is there. */
static int read_at(void *to, size_t bytes, uint64_t address)
{
    return mgds_hca_user_read(to, (const void *)(uintptr_t)address, bytes);
}

static struct ibv_context *find_context(const struct mgds_hca_file *file,
                                        uint64_t user)
{
    uint64_t context;
    int cmd_fd;

    if (user % _Alignof(struct ibv_cq) != 0 ||
        read_at(&context, sizeof(void *),
                user + offsetof(struct ibv_cq, context)) < 0 ||
        context % _Alignof(struct ibv_context) != 0 ||
        read_at(&cmd_fd, sizeof(cmd_fd),
                context + offsetof(struct ibv_context, cmd_fd)) < 0 ||
        !mgds_hca_file_has(file, cmd_fd))
        return NULL;
    return (struct ibv_context *)(uintptr_t)context;
}

void mgds_hca_inline_poll(const struct mgds_hca_file *file, uint64_t user)
{
    struct ibv_context *context;

    if (!mgds_hca_settings()->inline_progress)
        return;
    context = find_context(file, user);
    if (!context || context->ops.poll_cq == poll_inline)
        return;
    if (!poll_behind)
        poll_behind = context->ops.poll_cq;
    if (context->ops.poll_cq == poll_behind)
        context->ops.poll_cq = poll_inline;
}
