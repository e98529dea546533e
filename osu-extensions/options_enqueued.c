/* Options of the programs that enqueue. */
#include <errno.h>
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

/* Whether the program has rivals, and which; others know no such options. */
static bool has_rivals(const struct mgds_bench_spec *spec)
{
    return spec->enqueued || spec->collective;
}

static const char *names_of_all(const struct mgds_bench_spec *spec)
{
    return spec->collective ? "nccl" : "copy,nccl,nvshmem";
}

static int of_rivals(struct mgds_bench_parse *p, const char *name)
{
    if (has_rivals(p->spec))
        return 0;
    return mgds_bench_parse_refuse(p, "option --%s is not one of %s", name,
                                   p->spec->name);
}

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

/* Collectives are compared with NCCL alone. */
static unsigned rival_find(const struct mgds_bench_spec *spec, const char *text,
                           size_t length)
{
    for (size_t i = 0; i < MGDS_BENCH_RIVALS; i++) {
        if (strlen(rivals[i].name) == length &&
            strncmp(rivals[i].name, text, length) == 0 &&
            (!spec->collective || rivals[i].bit == MGDS_BENCH_RIVAL_NCCL))
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

        bit = rival_find(p->spec, at, length);
        p->out->rivals |= bit;
        at += length;
        if (bit && *at == '\0')
            return 0;
        at++;
    }
    return mgds_bench_parse_refuse(p,
                                   "option --rivals %.64s: give auto, none, or "
                                   "some of %s",
                                   value, names_of_all(p->spec));
}

int mgds_bench_take_rivals(struct mgds_bench_parse *p, const char *value)
{
    p->out->rivals = 0;
    p->out->rivals_auto = strcmp(value, "auto") == 0;
    if (!has_rivals(p->spec))
        return of_rivals(p, "rivals");
    if (strcmp(value, "none") == 0)
        return 0;
    return rivals_list(p, p->out->rivals_auto ? names_of_all(p->spec) : value);
}

int mgds_bench_take_rounds(struct mgds_bench_parse *p, const char *value)
{
    size_t rounds;

    if (mgds_bench_number_parse(value, 1, MGDS_BENCH_ROUNDS_MAX, &rounds) < 0)
        return mgds_bench_parse_refuse(
            p, "option --rounds %.64s: give a number from 1 to %d", value,
            MGDS_BENCH_ROUNDS_MAX);
    p->out->rounds = (int)rounds;
    return of_rivals(p, "rounds");
}

int mgds_bench_take_nccl(struct mgds_bench_parse *p, const char *value)
{
    p->out->nccl = value;
    return of_rivals(p, "nccl");
}

int mgds_bench_take_nvshmem(struct mgds_bench_parse *p, const char *value)
{
    p->out->nvshmem = value;
    return owned(p, "nvshmem");
}

/* A collective's rival takes the same buffers on all ranks. */
static int collective_settle(struct mgds_bench_parse *p)
{
    struct mgds_bench_options *o = p->out;

    if (o->rivals == 0 ||
        (o->kind[0] == MGDS_BENCH_DEVICE && o->kind[1] == MGDS_BENCH_DEVICE))
        return 0;
    if (!o->rivals_auto)
        return mgds_bench_parse_refuse(
            p, "option --rivals: NCCL takes device memory: give D D");
    o->rivals = 0;
    return 0;
}

int mgds_bench_rivals_settle(struct mgds_bench_parse *p)
{
    struct mgds_bench_options *o = p->out;

    if (p->spec->collective && collective_settle(p) < 0)
        return -EINVAL;

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
