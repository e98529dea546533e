/* In place of far.c where the headers of verbs were not there: no way is made.
 */
#include "shim/gds/transport/far.h"

#include <errno.h>
#include <stddef.h>

int mgds_far_create(struct mgds_far **out, const struct mgds_far_spec *spec,
                    struct mgds_refusal *refusal)
{
    (void)out;
    (void)spec;
    return mgds_refuse(refusal, MGDS_REFUSAL_BUILD, 0);
}

void mgds_far_tell(const struct mgds_far *far, struct mgds_far_card *out)
{
    (void)far;
    *out = (struct mgds_far_card){.made = 0};
}

int mgds_far_connect(struct mgds_far *far, const struct mgds_far_card *there,
                     struct mgds_refusal *refusal)
{
    (void)far;
    (void)there;
    return mgds_refuse(refusal, MGDS_REFUSAL_BUILD, 0);
}

void mgds_far_destroy(struct mgds_far *far)
{
    (void)far;
}

char *mgds_far_mirror(const struct mgds_far *far)
{
    (void)far;
    return NULL;
}

uint32_t mgds_far_units(const struct mgds_far *far)
{
    (void)far;
    return 0;
}

uint64_t mgds_far_place(const struct mgds_far *far, uint32_t units,
                        size_t count)
{
    (void)far;
    (void)units;
    (void)count;
    return 0;
}

int mgds_far_push(struct mgds_far *far, uint32_t units, uint32_t count,
                  void *arg)
{
    (void)far;
    (void)units;
    (void)count;
    (void)arg;
    return -ECONNRESET;
}

bool mgds_far_is_open(const struct mgds_far *far)
{
    (void)far;
    return false;
}

bool mgds_fars_due(void)
{
    return false;
}

bool mgds_fars_poll(void)
{
    return false;
}
