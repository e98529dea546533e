/* A handler of faults that stands in front of the program's, and passes on what
 * is not its own. It is put in place again and again, for somebody may have put
 * another one over it. That one may call what it replaced, so that a fault that
 * is passed on comes back; it goes on to the one before then.
 *
 *   before: A, B      fault --> ours --> B --> ours, again --> A
 *
 * What comes back from the oldest one goes there again a few times: it may be
 * the like of ours in another library, which has others before it. Then the
 * default ends the process. */
#ifndef MGDS_SIM_HANDLER_H
#define MGDS_SIM_HANDLER_H

#include <signal.h>

enum { MGDS_HANDLER_BEFORE = 8 };

struct mgds_handler {
    struct sigaction
        before[MGDS_HANDLER_BEFORE]; /* the last found at the end */
    unsigned count;
};

/* Of a thread: the fault that it passes on. */
struct mgds_passing {
    const void *context;
    const char *frame;
    unsigned depth;
};

/* Installs `ours`, unless it is there. Not from several threads at a time. */
void mgds_handler_install(struct mgds_handler *handler, int signo,
                          void (*ours)(int, siginfo_t *, void *));

/* A fault that is not ours. *passing is the thread's own. */
void mgds_handler_pass(struct mgds_handler *handler,
                       struct mgds_passing *passing, int signo, siginfo_t *info,
                       void *context);

#endif
