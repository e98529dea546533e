/* Single steps; see step.h. */
#include "shim/gds/queue/step.h"

struct mgds_post_args mgds_step_post(const struct mgds_step *post,
                                     const struct mgds_step *flag)
{
    return (struct mgds_post_args){.ready = (uintptr_t)post->units,
                                   .serial = post->serial,
                                   .flag = (uintptr_t)flag->word,
                                   .value = flag->value};
}

bool mgds_step_is_long(const struct mgds_step *step)
{
    return step->kind == MGDS_STEP_TAKE && (step->claim || step->source);
}
