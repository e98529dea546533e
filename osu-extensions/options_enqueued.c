/* Options of the programs that enqueue. */
#include <string.h>
#include <strings.h>

#include "osu-extensions/number.h"
#include "osu-extensions/options_parse.h"
#include "shim/base/config.h"

#define ROUNDS_WITH_RIVALS 3

static const struct {
    const char *name;
    unsigned bit;
} rivals[MGDS_BENCH_RIVALS] = {
    {"copy", MGDS_BENCH_RIVAL_COPY},
    {"nccl", MGDS_BENCH_RIVAL_NCCL},
    {"nvshmem", MGDS_BENCH_RIVAL_NVSHMEM},
};

/* Options of programs that enqueue are not known to the others. */
static int owned(struct mgds_bench_parse *p, const char *name)
{
    if (p->spec->enqueued)
        return 0;
    return mgds_bench_parse_refuse(p, "option --%s is not one of %s", name,
                                   p->spec->name);
}

int mgds_bench_take_sync(struct mgds_bench_parse *p, const char *value)
{
    (void)value;
    p->out->sync = true;
    return owned(p, "sync");
}

/* The library would go on with its default, and figures would be of that. */
int mgds_bench_take_trigger(struct mgds_bench_parse *p, const char *value)
{
    p->out->trigger = NULL;
    for (int i = 0; mgds_trigger_names[i]; i++) {
        if (strcasecmp(value, mgds_trigger_names[i]) == 0)
            p->out->trigger = value;
    }
    if (p->spec->enqueued && !p->out->trigger)
        return mgds_bench_parse_refuse(
            p, "option --trigger %.64s: give auto, kernel or memop", value);
    return owned(p, "trigger");
}

static unsigned rival_find(const char *text, size_t length)
{
    for (size_t i = 0; i < MGDS_BENCH_RIVALS; i++) {
        if (strlen(rivals[i].name) == length &&
            strncmp(rivals[i].name, text, length) == 0)
            return rivals[i].bit;
    }
    return 0;
}

static int rivals_list(struct mgds_bench_parse *p, const char *value)
{
    const char *at = value;
    unsigned bit = 1;

    while (bit) {
        size_t length = strcspn(at, ",");

        bit = rival_find(at, length);
        p->out->rivals |= bit;
        at += length;
        if (bit && *at == '\0')
            return 0;
        at++;
    }
    return mgds_bench_parse_refuse(p,
                                   "option --rivals %.64s: give auto, none, or "
                                   "some of copy,nccl,nvshmem",
                                   value);
}

int mgds_bench_take_rivals(struct mgds_bench_parse *p, const char *value)
{
    p->out->rivals = 0;
    p->out->rivals_auto = strcmp(value, "auto") == 0;
    if (!p->spec->enqueued)
        return owned(p, "rivals");
    if (strcmp(value, "none") == 0)
        return 0;
    return p->out->rivals_auto ? rivals_list(p, "copy,nccl,nvshmem")
                               : rivals_list(p, value);
}

int mgds_bench_take_rounds(struct mgds_bench_parse *p, const char *value)
{
    size_t rounds;

    if (mgds_bench_number_parse(value, 1, MGDS_BENCH_ROUNDS_MAX, &rounds) < 0)
        return mgds_bench_parse_refuse(
            p, "option --rounds %.64s: give a number from 1 to %d", value,
            MGDS_BENCH_ROUNDS_MAX);
    p->out->rounds = (int)rounds;
    return owned(p, "rounds");
}

int mgds_bench_take_nccl(struct mgds_bench_parse *p, const char *value)
{
    p->out->nccl = value;
    return owned(p, "nccl");
}

int mgds_bench_take_nvshmem(struct mgds_bench_parse *p, const char *value)
{
    p->out->nvshmem = value;
    return owned(p, "nvshmem");
}

int mgds_bench_rivals_settle(struct mgds_bench_parse *p)
{
    struct mgds_bench_options *o = p->out;

    if (o->rounds == 0)
        o->rounds = o->rivals ? ROUNDS_WITH_RIVALS : 1;
    if (o->rivals && o->vary_window)
        return mgds_bench_parse_refuse(
            p, "options --rivals and -V exclude each other: give one");
    if (o->rivals && o->ddt.kind != MGDS_BENCH_DDT_NONE)
        return mgds_bench_parse_refuse(
            p, "option -D: rivals send contiguous bytes; leave --rivals or -D "
               "out");
    return 0;
}
