/* Whether orders that differ only in events which do not touch each other come
 * to the same (events_are_independent): a search that leaves out all but one of
 * them has to find all outcomes that one finds which leaves out none. For
 * programs of so few orders that all can be run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/events.h"
#include "tests/engine/explore.h"

/* As a process says it by its exit. */
enum verdict { EQUAL, DIFFERENT, TOO_LARGE };

/* How many orders of one program are run at most, for each place of its
 * trouble, without leaving any out; and with. */
static unsigned most = 12000;
enum { FEWER = 10 };

static struct explore_result search(const struct program *program, bool plain,
                                    struct outcomes *outcomes)
{
    unsigned each = plain ? most : most / FEWER;
    unsigned parts = EXPLORE_PARTS * events_befallen(program);
    const struct explore_rule rule = {
        .most = program_may_lose(program) ? each * parts : each,
        .seed = 1,
        .plain = plain,
        .strict = true,
        .outcomes = outcomes};

    return explore(program, &rule);
}

static enum verdict compare(const struct program *program)
{
    struct outcomes few = {.slot = NULL}, all = {.slot = NULL};
    struct explore_result slept = search(program, false, &few), plain;
    size_t missing, more;

    if (slept.failed)
        return DIFFERENT;
    if (!slept.whole)
        return TOO_LARGE;
    plain = search(program, true, &all);
    if (plain.failed)
        return DIFFERENT;
    if (!plain.whole)
        return TOO_LARGE;
    missing = outcomes_missing(&all, &few);
    more = outcomes_missing(&few, &all);
    printf("%-32s %8u orders of %8u, %6zu outcomes\n", program->name,
           slept.runs, plain.runs, all.count);
    if (missing + more > 0)
        fprintf(stderr,
                "%s: the search that leaves orders out has not found %zu of "
                "%zu outcomes, and %zu others: events_are_independent is "
                "wrong\n",
                program->name, missing, all.count, more);
    outcomes_free(&few);
    outcomes_free(&all);
    return missing + more > 0 ? DIFFERENT : EQUAL;
}

/* In a process of its own, as its settings are. */
static enum verdict compare_apart(const struct program *program)
{
    pid_t child;
    int status = 0;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        program_settings(program);
        exit((int)compare(program));
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
        return DIFFERENT;
    return (enum verdict)WEXITSTATUS(status);
}

static void compare_set(const struct program_set *set, const char *only,
                        unsigned verdicts[TOO_LARGE + 1])
{
    for (unsigned i = 0; i < set->count; i++) {
        const struct program *program = &set->program[i];
        enum verdict verdict;

        if (only && strcmp(only, program->name) != 0)
            continue;
        verdict = compare_apart(program);
        if (verdict > TOO_LARGE)
            verdict = DIFFERENT;
        verdicts[verdict]++;
    }
}

/* The most orders, and, if not all, the name of a program. */
int main(int argc, char **argv)
{
    enum { LEAST = 6 };
    const char *only = argc > 2 ? argv[2] : NULL;
    unsigned verdicts[TOO_LARGE + 1] = {0};

    if (argc > 1)
        most = (unsigned)strtoul(argv[1], NULL, 10);
    compare_set(&program_well, only, verdicts);
    compare_set(&program_troubled, only, verdicts);
    printf("%u programs compared, %u too large\n", verdicts[EQUAL],
           verdicts[TOO_LARGE]);
    if (!only && verdicts[EQUAL] < LEAST) {
        fprintf(stderr, "only %u programs are small enough\n", verdicts[EQUAL]);
        return 1;
    }
    return verdicts[DIFFERENT] > 0;
}
