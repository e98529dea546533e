/* Single steps; see command.h. */
#include "shim/gds/stream/command.h"

#include "shim/gds/mem/bounce_state.h"

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

size_t mgds_step_length(const struct mgds_step *take)
{
    return take->record ? take->bytes : take->length;
}

int mgds_step_check(const struct mgds_step *take)
{
    return take->bounce ? mgds_bounce_check(take->bounce) : 0;
}

struct mgds_step_shape
mgds_step_shape(size_t bytes, struct mgds_step_shape most, unsigned each)
{
    size_t units = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    struct mgds_step_shape shape = {1, MGDS_STEP_WARP};

    while ((size_t)shape.threads * each < units && shape.threads < most.threads)
        shape.threads *= 2;
    while ((size_t)shape.blocks * shape.threads * each < units &&
           shape.blocks < most.blocks)
        shape.blocks *= 2;
    return shape;
}
