/* Why an HCA is not used. What fails in this folder fails with a negative errno
 * and such a reason, and says no line: whoever decides what is done instead
 * does. */
#ifndef MGDS_HCA_REFUSAL_H
#define MGDS_HCA_REFUSAL_H

#include <errno.h>

enum mgds_refusal_reason {
#define MGDS_REFUSAL(name, why, remedy) MGDS_REFUSAL_##name,
#include "shim/gds/hca/refusals.def"
};

/* All 0: nothing was refused. */
struct mgds_refusal {
    enum mgds_refusal_reason reason;
    int error; /* as errno has it; 0: none */
};

/* Keeps the reason, and the error of a call as errno has it, 0 if there is
 * none; returns what its caller is to return: that error as a negative errno,
 * or -ENOTSUP without one. */
static inline int mgds_refuse(struct mgds_refusal *refusal,
                              enum mgds_refusal_reason reason, int error)
{
    refusal->reason = reason;
    refusal->error = error;
    return error ? -error : -ENOTSUP;
}

/* Room for the longest text below; longer ones are cut. */
enum { MGDS_REFUSAL_TEXT = 320 };

/* "why (text of the error): remedy", in `text`, which is returned. */
const char *mgds_refusal_text(const struct mgds_refusal *refusal,
                              char text[MGDS_REFUSAL_TEXT]);

#endif
