/*
 * What kernels that wait on a stream are to give up, one message each, while
 * the stream goes on with all else (device/abi.h, struct mgds_quit).
 *
 *   word     written by                                what is visible before
 *   quit     the CPU: at, then serial                  nothing
 *   next     the CPU, once                             the quit that it names
 *   abort    the CPU: the first quit, or 0             all quits
 *            once and for ever: MGDS_ABORT_ALL
 *   gone     a kernel that gave up what is named       nothing; the words that
 *                                                      its launch ends with
 *                                                      come later
 *
 * A kernel looks now and then, and never without having looked for its message
 * first: so a quit of one that is there changes nothing, and a wait that has
 * passed without `gone` has its message. A kernel may hold the address of any
 * quit at any time: none goes before the stream does, and those that are idle
 * are used again.
 *
 * The caller lets one thread at a time in. No driver call.
 */
#ifndef MGDS_STREAM_QUITS_H
#define MGDS_STREAM_QUITS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi.h"
#include "shim/gds/stream/syncwords.h"

struct mgds_quits {
    uint64_t *abort;
    struct mgds_quit *first, *last; /* lines of words */
    unsigned named;                 /* of them, not idle */
};

/* abort: the desk's, 0. */
void mgds_quits_init(struct mgds_quits *quits, uint64_t *abort);
void mgds_quits_fini(struct mgds_quits *quits, struct mgds_syncwords *words);

/* From now on nobody waits for the word to have the serial, which is not 0.
 * NULL: there is no memory for that which would not have to be pinned first. */
struct mgds_quit *mgds_quits_name(struct mgds_quits *quits,
                                  struct mgds_syncwords *words, uint64_t at,
                                  uint64_t serial);
/* No kernel waits for it any more. */
void mgds_quits_forget(struct mgds_quits *quits, struct mgds_quit *quit);

/* Nothing is waited for. */
void mgds_quits_all(struct mgds_quits *quits);
bool mgds_quits_are_all(const struct mgds_quits *quits); /* any thread */

/* Has a kernel given it up? Any thread. */
bool mgds_quit_is_gone(const struct mgds_quit *quit);

#endif
