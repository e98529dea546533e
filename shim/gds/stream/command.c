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

/* The least power of two that is enough, in these bounds, which are such, too.
 */
static unsigned fit_power(size_t count, unsigned least, unsigned most)
{
    if (count <= least)
        return least;
    return count > most / 2 ? most : 1u << (64 - __builtin_clzll(count - 1));
}

struct mgds_command_shape
mgds_command_shape(size_t bytes, struct mgds_command_shape most, unsigned each)
{
    size_t shares =
        (bytes + sizeof(uint64_t) * each - 1) / (sizeof(uint64_t) * each);
    unsigned threads = fit_power(shares, MGDS_COMMAND_WARP, most.threads);

    return (struct mgds_command_shape){
        fit_power((shares + threads - 1) / threads, 1, most.blocks), threads};
}
