/* Passes faults on to those whose handlers were there before. */
#include "sim/handler.h"

#include <stdbool.h>
#include <string.h>

enum { DEPTH = 2 * MGDS_HANDLER_BEFORE /* how often a fault comes back */ };

/* The default strikes again when the instruction is repeated. */
static void do_default(int signo, const siginfo_t *info)
{
    struct sigaction standard;

    memset(&standard, 0, sizeof(standard));
    standard.sa_handler = SIG_DFL;
    sigaction(signo, &standard, NULL);
    if (info->si_code <= 0) /* sent, not struck: it will not repeat */
        raise(signo);
}

static bool is_plain(const struct sigaction *action, void (*handler)(int))
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == handler;
}

static bool is_default(const struct sigaction *action)
{
    return is_plain(action, SIG_DFL) || is_plain(action, SIG_IGN);
}

/* As the kernel would: what was struck cannot be ignored. */
static void call(struct sigaction *action, int signo, siginfo_t *info,
                 void *context)
{
    struct sigaction it = *action;

    if (is_plain(&it, SIG_IGN) && info->si_code <= 0)
        return;
    if (is_default(&it)) {
        do_default(signo, info);
        return;
    }
    if (it.sa_flags & (int)SA_RESETHAND) {
        action->sa_flags = 0;
        action->sa_handler = SIG_DFL;
    }
    if (it.sa_flags & SA_SIGINFO)
        it.sa_sigaction(signo, info, context);
    else
        it.sa_handler(signo);
}

/* The fault of *passing comes back: its context is the same, further down the
 * stack. A handler may leave by siglongjmp, and what *passing says is of a
 * fault that is over then: the next one at that place of the stack finds us no
 * further down. */
static bool comes_back(const struct mgds_passing *passing, const void *context,
                       const char *frame)
{
    return passing->context == context && frame < passing->frame;
}

void mgds_handler_pass(struct mgds_handler *handler,
                       struct mgds_passing *passing, int signo, siginfo_t *info,
                       void *context)
{
    const char *frame = __builtin_frame_address(0);
    struct mgds_passing outer = *passing;
    bool back = comes_back(&outer, context, frame);
    unsigned depth = back ? outer.depth + 1 : 0, count = handler->count;

    if (depth > DEPTH) {
        do_default(signo, info);
        return;
    }
    *passing = (struct mgds_passing){
        .context = context, .frame = frame, .depth = depth};
    call(&handler->before[depth < count ? count - 1 - depth : 0], signo, info,
         context);
    *passing = outer;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
    return (a->sa_flags & SA_SIGINFO) == (b->sa_flags & SA_SIGINFO) &&
           a->sa_handler == b->sa_handler;
}

/* At the end, once; without a handler nothing is left to be called. If there
 * are too many the second one goes: the first was there without us. */
static void add(struct mgds_handler *handler, const struct sigaction *now)
{
    unsigned last = handler->count - 1, at = 0;

    if (handler->count > 0 && is_same(&handler->before[last], now)) {
        handler->before[last] = *now;
        return;
    }
    if (is_default(now))
        handler->count = 0;
    while (at < handler->count && !is_same(&handler->before[at], now))
        at++;
    if (at == MGDS_HANDLER_BEFORE)
        at = 1;
    if (at < handler->count)
        memmove(&handler->before[at], &handler->before[at + 1],
                (--handler->count - at) * sizeof(*now));
    handler->before[handler->count++] = *now;
}

void mgds_handler_install(struct mgds_handler *handler, int signo,
                          void (*ours)(int, siginfo_t *, void *))
{
    struct sigaction action, now;

    sigaction(signo, NULL, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == ours)
        return;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = ours;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    add(handler, &now);
    sigaction(signo, &action, NULL);
}
