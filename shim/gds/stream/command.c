/* Single commands; see command.h. */
#include "shim/gds/stream/command.h"

#include "shim/gds/mem/bounce_state.h"

struct mgds_post_args mgds_command_post(const struct mgds_command *post,
                                        const struct mgds_command *flag)
{
    return (struct mgds_post_args){.ready = (uintptr_t)post->units,
                                   .serial = post->serial,
                                   .flag = (uintptr_t)flag->word,
                                   .value = flag->value};
}

bool mgds_command_is_long(const struct mgds_command *command)
{
    return command->kind == MGDS_COMMAND_TAKE &&
           (command->claim || command->source);
}

size_t mgds_command_length(const struct mgds_command *take)
{
    return take->record ? take->bytes : take->length;
}

int mgds_command_check(const struct mgds_command *take)
{
    return take->bounce ? mgds_bounce_check(take->bounce) : 0;
}

struct mgds_command_shape
mgds_command_shape(size_t bytes, struct mgds_command_shape most, unsigned each)
{
    size_t units = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    struct mgds_command_shape shape = {1, MGDS_COMMAND_WARP};

    while ((size_t)shape.threads * each < units && shape.threads < most.threads)
        shape.threads *= 2;
    while ((size_t)shape.blocks * shape.threads * each < units &&
           shape.blocks < most.blocks)
        shape.blocks *= 2;
    return shape;
}
