/* A hundred processes open the device at once, each with a QP: threads and
 * memory of each, as they find them. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hca/front/verbs_pair.h"
#include "tests/lib/threads.h"

enum { PROCESSES = 100 };

struct cost {
    uint16_t lid;
    unsigned threads;
    unsigned long private_kib; /* since before */
};

/* Memory that goes with this process. */
static unsigned long read_private(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    unsigned long sum = 0, kib;
    char line[128];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Private_Clean: %lu", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %lu", &kib) == 1)
            sum += kib;
    }
    fclose(file);
    return sum;
}

/* Tells what it costs, and stays until the other end of `stay` is closed. */
static void be_one(int tell, int stay)
{
    struct cost cost = {.private_kib = read_private()};
    struct ibv_context *context = verbs_open();
    struct ibv_port_attr port;
    struct verbs_side side;
    char nothing;

    verbs_side_open(context, &side);
    assert_int_equal(verbs_init(side.qp), 0);
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    cost.lid = port.lid;
    cost.threads = mgds_test_threads();
    cost.private_kib = read_private() - cost.private_kib;
    assert_int_equal(write(tell, &cost, sizeof(cost)), sizeof(cost));
    assert_int_equal(read(stay, &nothing, 1), 0);
    verbs_side_close(&side);
    assert_int_equal(ibv_close_device(context), 0);
    exit(0);
}

static void fork_all(pid_t child[PROCESSES], const int told[2],
                     const int stay[2])
{
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(told[0]);
        close(stay[1]);
        be_one(told[1], stay[0]);
    }
    close(told[1]);
    close(stay[0]);
}

static void hear_all(int told)
{
    unsigned long most = 0, sum = 0;
    bool seen[256] = {false};
    struct cost cost;

    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(read(told, &cost, sizeof(cost)), sizeof(cost));
        assert_true(cost.lid > 0 && cost.lid < 256 && !seen[cost.lid]);
        seen[cost.lid] = true;
        assert_int_equal(cost.threads, 2);
        sum += cost.private_kib;
        most = cost.private_kib > most ? cost.private_kib : most;
    }
    printf("%d processes: 1 thread more in each, %lu KiB more, at most %lu\n",
           PROCESSES, sum / PROCESSES, most);
}

int main(void)
{
    pid_t child[PROCESSES];
    int told[2], stay[2], status;

    assert_int_equal(pipe(told) | pipe(stay), 0);
    fork_all(child, told, stay);
    hear_all(told[0]);
    close(stay[1]);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    return 0;
}
