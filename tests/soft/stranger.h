/* A process that is not of the job: another user, who has found out where a
 * worker of ours listens, and more than that: all but the key. */
#ifndef MGDS_TEST_STRANGER_H
#define MGDS_TEST_STRANGER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/gds/wire/frame.h"

enum stranger_deed {
    STRANGER_LEAVES,   /* and says when all has gone out */
    STRANGER_SENDS,    /* the frame as it is, as often as asked */
    STRANGER_INVENTS,  /* the same with tags and numbers of its own */
    STRANGER_SHORTENS, /* its first bytes: one, two, ... up to all but one */
    STRANGER_BABBLES,  /* random bytes of random length */
};

struct stranger_order {
    enum stranger_deed deed;
    uint32_t times;
    size_t frame_bytes;
    size_t body_bytes; /* of 0xe1 */
    struct mgds_wire_frame frame;
};

struct stranger {
    pid_t pid;
    int to, from; /* pipes */
};

/* Starts one that knows a UCX address, as the user nobody if we may say so. */
void stranger_start(struct stranger *stranger, const void *address,
                    size_t bytes);

/* Has it do something: returns how many frames it has sent, when they left. */
unsigned stranger_does(struct stranger *stranger,
                       const struct stranger_order *order);

void stranger_end(struct stranger *stranger);

/* What it does; for main. argv: that of a program that was started so. */
int stranger_main(void);

/* Path of this program. */
extern const char *stranger_program;

#endif
