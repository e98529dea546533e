/*
 * What a staged receive costs in calls of the driver, as the software GPU
 * counts them: windows of messages of a rank to itself, so that all have come
 * when the completion call begins. How long copies take is chance, and more
 * questions are asked of slow ones: the cheapest of many windows counts.
 */
#include <dlfcn.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { WINDOW = 64, WINDOWS = 40, TAG = 3 };

static uint64_t (*calls)(void);

static int find_counter(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "mgds_sim_calls") : NULL;

    memcpy(&calls, &found, sizeof(calls));
    return calls != NULL;
}

/* One window, completed by that call. */
struct window {
    char *in[WINDOW];
    char *out;
    int bytes;
    uint64_t posting, completing;
};

static void by_waitall(MPI_Request *requests)
{
    MPI_Waitall(WINDOW, requests, gpu_ignored());
}

static void by_testall(MPI_Request *requests)
{
    int flag = 0;

    while (!flag)
        MPI_Testall(WINDOW, requests, &flag, gpu_ignored());
}

static void run(struct window *window, void (*complete)(MPI_Request *))
{
    MPI_Request requests[2 * WINDOW];
    uint64_t before = calls(), between;

    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(window->in[i], window->bytes, MPI_BYTE, gpu_rank, TAG,
                  MPI_COMM_WORLD, &requests[i]);
    between = calls();
    window->posting = between - before;
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(window->out, window->bytes, MPI_BYTE, gpu_rank, TAG,
                  MPI_COMM_WORLD, &requests[WINDOW + i]);
    before = calls();
    complete(requests);
    window->completing = calls() - before;
    MPI_Waitall(WINDOW, requests + WINDOW, gpu_ignored());
}

static void check_data(struct window *window, int seed)
{
    for (int i = 0; i < WINDOW; i++) {
        CHECK(gpu_holds(window->in[i], 0, (size_t)window->bytes, seed));
        gpu_fill(window->in[i], (size_t)window->bytes, -1);
    }
}

/* The least calls of a window may be so many a message, times ten. */
static void measure(const char *name, int bytes,
                    void (*complete)(MPI_Request *), uint64_t most)
{
    struct window window = {.bytes = bytes};
    uint64_t least = UINT64_MAX;

    window.out = malloc((size_t)bytes);
    CHECK(window.out);
    for (int i = 0; i < bytes; i++)
        window.out[i] = (char)(7 + i * 7);
    for (int i = 0; i < WINDOW; i++)
        window.in[i] = gpu_new((size_t)bytes, -1);
    for (int lap = 0; lap < WINDOWS; lap++) {
        run(&window, complete);
        if (window.completing < least)
            least = window.completing;
        if (lap % 16 == 0)
            check_data(&window, 7);
    }
    printf("%s of %d bytes: %.2f calls to post a receive, %.2f to complete\n",
           name, bytes, (double)window.posting / WINDOW,
           (double)least / WINDOW);
    CHECK(window.posting <= WINDOW);
    CHECK(least * 10 <= most * WINDOW);
    for (int i = 0; i < WINDOW; i++)
        gpu_delete(window.in[i]);
    free(window.out);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    if (!find_counter()) {
        MPI_Finalize();
        printf("skipped: this GPU does not count calls\n");
        return 77;
    }
    measure("Waitall", 8, by_waitall, 30);
    measure("Waitall", 262144, by_waitall, 65);
    measure("Testall", 8, by_testall, 100);
    gpu_end("counts");
    return 0;
}
