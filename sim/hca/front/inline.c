/* Wraps the operation behind ibv_poll_cq. */
#include "sim/hca/front/inline.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sim/hca/front/file.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/front/settings.h"

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
 * the kernel looks at the address for us. */
static bool peek(void *to, size_t bytes, const void *from)
{
    struct iovec here = {.iov_base = to, .iov_len = bytes};
    struct iovec there = {.iov_base = (void *)(uintptr_t)from,
                          .iov_len = bytes};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static struct ibv_context *find_context(int fd, uint64_t user)
{
    const struct ibv_cq *cq = (const struct ibv_cq *)(uintptr_t)user;
    struct ibv_context *context;
    int cmd_fd;

    if (user % _Alignof(struct ibv_cq) != 0 ||
        !peek(&context, sizeof(void *), &cq->context) ||
        !peek(&cmd_fd, sizeof(cmd_fd), &context->cmd_fd) || cmd_fd != fd)
        return NULL;
    return context;
}

void mgds_hca_inline_poll(const struct mgds_hca_file *file, uint64_t user)
{
    struct ibv_context *context;

    if (!mgds_hca_settings()->inline_progress)
        return;
    context = find_context(file->fd, user);
    if (!context || context->ops.poll_cq == poll_inline)
        return;
    if (!poll_behind)
        poll_behind = context->ops.poll_cq;
    if (context->ops.poll_cq == poll_behind)
        context->ops.poll_cq = poll_inline;
}
