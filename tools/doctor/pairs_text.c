/*
 * Ways between ranks as lines: those that are alike stand in one, however many
 * they are. A line says use and transport, lengths if not all are meant, which
 * ranks, and if there is something better why not and what helps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor/pairs.h"

enum { NAMED = 8 }; /* pairs that a line names before it counts them */

/* The ways of one use that one line is about. */
struct group {
    const struct mgds_pairs *all;
    const struct mgds_pair *like; /* the first */
    bool lengths;                 /* only those of like's length */
    unsigned char *has;           /* ranks x ranks: from, to */
};

static bool are_alike(const struct mgds_pair *a, const struct mgds_pair *b)
{
    return a->enqueued == b->enqueued &&
           strcmp(a->transport, b->transport) == 0 &&
           strcmp(a->reason, b->reason) == 0 &&
           strcmp(a->remedy, b->remedy) == 0;
}

static bool same_ends(const struct mgds_pair *a, const struct mgds_pair *b)
{
    return a->enqueued == b->enqueued && a->from == b->from && a->to == b->to;
}

/* Do messages of other lengths go another way there? */
static bool depends_on_length(const struct mgds_pairs *all, size_t i)
{
    const struct mgds_pair *pair = all->pair;
    size_t first = i;

    while (first > 0 && same_ends(&pair[first - 1], &pair[i]))
        first--;
    for (size_t k = first; k < all->count && same_ends(&pair[k], &pair[i]); k++)
        if (!are_alike(&pair[k], &pair[i]))
            return true;
    return false;
}

static unsigned char *cell(const struct group *group, int from, int to)
{
    return &group->has[(size_t)from * (size_t)group->all->ranks + (size_t)to];
}

static bool is_member(const struct group *group, size_t i)
{
    const struct mgds_pair *pair = &group->all->pair[i];

    if (!are_alike(pair, group->like) ||
        depends_on_length(group->all, i) != group->lengths)
        return false;
    return !group->lengths || pair->bytes == group->like->bytes;
}

/* Whether an earlier line had it. */
static bool is_told(const struct mgds_pairs *all, size_t i)
{
    struct group group = {.all = all,
                          .like = &all->pair[i],
                          .lengths = depends_on_length(all, i)};

    for (size_t k = 0; k < i; k++)
        if (is_member(&group, k))
            return true;
    return false;
}

static void name_pair(FILE *out, const struct group *group, int a, int b,
                      int *named)
{
    bool there = *cell(group, a, b), back = *cell(group, b, a);

    if (!there && !back)
        return;
    if ((*named)++ >= NAMED)
        return;
    if (there && back)
        fprintf(out, " %d-%d", a, b);
    else
        fprintf(out, " %d>%d", there ? a : b, there ? b : a);
}

static void name_pairs(FILE *out, const struct group *group)
{
    int ranks = group->all->ranks, named = 0;

    for (int a = 0; a < ranks; a++)
        for (int b = a; b < ranks; b++)
            name_pair(out, group, a, b, &named);
    if (named > NAMED)
        fprintf(out, " and %d more", named - NAMED);
}

static void name_ranks(FILE *out, const struct group *group)
{
    int ranks = group->all->ranks, alone = 0, between = 0;

    for (int a = 0; a < ranks; a++)
        for (int b = 0; b < ranks; b++)
            *(a == b ? &alone : &between) += *cell(group, a, b);
    if (alone == ranks && between == ranks * (ranks - 1))
        fprintf(out, ranks > 1 ? " between all ranks" : " with itself");
    else if (alone == 0 && between == ranks * (ranks - 1))
        fprintf(out, " between every two ranks");
    else if (alone == ranks && between == 0)
        fprintf(out, " of each rank with itself");
    else
        name_pairs(out, group);
}

static void say_length(FILE *out, json_int_t bytes)
{
    if (bytes >= 1 << 20)
        fprintf(out, " (%lld MiB)", (long long)bytes >> 20);
    else
        fprintf(out, " (%lld KiB)", (long long)bytes >> 10);
}

static void say_group(FILE *out, const struct group *group)
{
    const struct mgds_pair *like = group->like;

    fprintf(out, "%s %s", like->enqueued ? "enqueued" : "ordinary",
            like->transport);
    if (group->lengths)
        say_length(out, like->bytes);
    name_ranks(out, group);
    if (like->reason[0])
        fprintf(out, ": %s -> %s", like->reason,
                like->remedy[0] ? like->remedy
                                : "nothing to do in this version");
    fputc('\n', out);
}

static int say_from(FILE *out, const struct mgds_pairs *all, size_t first)
{
    size_t ranks = (size_t)all->ranks;
    struct group group = {.all = all,
                          .like = &all->pair[first],
                          .lengths = depends_on_length(all, first),
                          .has = calloc(ranks * ranks, 1)};

    if (!group.has)
        return -1;
    for (size_t i = first; i < all->count; i++)
        if (is_member(&group, i))
            *cell(&group, all->pair[i].from, all->pair[i].to) = 1;
    say_group(out, &group);
    free(group.has);
    return 0;
}

char *mgds_pairs_text(const struct mgds_pairs *pairs)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int rc = out ? 0 : -1;

    for (size_t i = 0; i < pairs->count && rc == 0; i++)
        if (!is_told(pairs, i))
            rc = say_from(out, pairs, i);
    if (out && fclose(out) != 0)
        rc = -1;
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}
