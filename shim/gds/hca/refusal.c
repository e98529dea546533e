/* Reasons as numbers and as texts. */
#include "shim/gds/hca/refusal.h"

#include <string.h>

#include "shim/base/text.h"

static const struct {
    const char *why;
    const char *remedy;
} rows[] = {
#define MGDS_REFUSAL(name, why, remedy) {why, remedy},
#include "shim/gds/hca/refusals.def"
};

const char *mgds_refusal_text(const struct mgds_refusal *refusal,
                              char text[MGDS_REFUSAL_TEXT])
{
    const char *remedy = rows[refusal->reason].remedy;
    struct mgds_text out;
    char error[64];

    mgds_text_init(&out, text, MGDS_REFUSAL_TEXT);
    mgds_text_string(&out, rows[refusal->reason].why);
    if (refusal->error)
        mgds_text_add(&out, " (%s)",
                      strerror_r(refusal->error, error, sizeof(error)));
    if (remedy[0] != '\0')
        mgds_text_add(&out, ": %s", remedy);
    return text;
}
