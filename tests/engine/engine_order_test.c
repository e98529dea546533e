/* Every program in every order of its events: what must be so at the end of
 * each; then that all states were visited which can be (coverage.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/coverage.h"
#include "tests/engine/events.h"
#include "tests/engine/explore.h"
#include "tests/engine/toll.h"
#include "tests/lib/sanitized.h"

enum { MOST = 256 };

struct order {
    const struct program_set *set;
    const char *only;
    bool whole; /* it fails unless there are no other orders */
    struct explore_rule rule;
};

/* Written by the processes that run the programs. */
static struct shared {
    struct explore_result result[MOST];
    unsigned visits[2][WITNESS_PROTOCOLS][WITNESS_STATES];
    unsigned places, dones;
    struct toll toll;
} * shared;

static void add_visits(void)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < WITNESS_PROTOCOLS; k++)
            for (unsigned j = 0; j < WITNESS_STATES; j++)
                shared->visits[i][k][j] += witness_visits[i][k][j];
    shared->places += witness_places();
    shared->dones += witness_dones();
}

/* In a process of its own: one that goes wrong leaves an engine that nobody can
 * use. */
static int run_program(const struct order *order, unsigned number)
{
    const struct program *program = &order->set->program[number];
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        program_settings(program);
        shared->result[number] = explore(program, &order->rule);
        add_visits();
        toll_add(&shared->toll, program->trouble,
                 shared->result[number].given_up);
        exit(shared->result[number].failed);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 1;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fprintf(stderr, "%s: ended by signal %d\n", program->name,
            WTERMSIG(status));
    return 1;
}

static int run_all(const struct order *order)
{
    int failed = 0;

    for (unsigned i = 0; i < order->set->count; i++) {
        const struct explore_result *result = &shared->result[i];
        const char *name = order->set->program[i].name;

        if (order->only && strcmp(order->only, name) != 0)
            continue;
        failed += run_program(order, i) != 0;
        failed += order->whole && !result->whole;
        printf("%-32s %8u orders, %8u cut, %4u events%s\n", name, result->runs,
               result->cut, result->deep, result->whole ? "" : ", not all");
        fflush(stdout);
    }
    return failed;
}

static void take_option(struct order *order, const char *name,
                        const char *value)
{
    unsigned number = (unsigned)strtoul(value, NULL, 10);

    if (!strcmp(name, "--program"))
        order->only = value;
    else if (!strcmp(name, "--set") && !strcmp(value, program_troubled.name))
        order->set = &program_troubled;
    else if (!strcmp(name, "--at"))
        order->rule.trouble_at = number;
    else if (!strcmp(name, "--of"))
        order->rule.trouble_of = number;
    else if (!strcmp(name, "--replay"))
        order->rule.replay = value;
    else if (!strcmp(name, "--most"))
        order->rule.most = number;
    else if (!strcmp(name, "--drawn"))
        order->rule.drawn = number;
    else if (!strcmp(name, "--seed"))
        order->rule.seed = number;
    else if (!strcmp(name, "--attempts"))
        events_attempts = number;
    else if (!strcmp(name, "--whole"))
        order->whole = number > 0;
    else if (!strcmp(name, "--plain"))
        order->rule.plain = number > 0;
    else
        exit(2);
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        exit(2);
    return memory;
}

int main(int argc, char **argv)
{
    struct order order = {.set = &program_well,
                          .rule = {.most = MGDS_SANITIZED ? 400 : 6000,
                                   .drawn = MGDS_SANITIZED ? 100 : 1000,
                                   .seed = 1}};
    bool troubled;
    int failed;

    for (int i = 1; i + 1 < argc; i += 2)
        take_option(&order, argv[i], argv[i + 1]);
    shared = (struct shared *)share(sizeof(*shared));
    troubled = order.set == &program_troubled;
    failed = run_all(&order);
    coverage_print(shared->visits);
    if (!order.only &&
        !coverage_check(shared->visits,
                        troubled ? COVERAGE_TROUBLED : COVERAGE_WELL))
        failed++;
    if (troubled && !order.only && !toll_check(&shared->toll))
        failed++;
    if (!order.only && (shared->places == 0 || shared->dones == 0)) {
        fprintf(stderr, "places or done words are not counted any more: "
                        "witness.c has other names for them\n");
        failed++;
    }
    return failed > 0;
}
