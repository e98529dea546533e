/*
 * A word that says "it was read", between two GPUs: how often a read that goes
 * before it in the program finds what was stored after it, and what a round
 * costs; with the word stored in no order (weak), made to depend on what was
 * read (dependent), and released.
 *
 *   litmus [--rounds N] [--blocks N] [--threads N] [--limit SECONDS]
 *          [--no-weak]
 *
 * A line for each form, and for values that the reader looks at ahead of the
 * word (used), as the library's kernels do, or behind it (kept). Exit status 0:
 * none but the weak form showed anything; 1: one did; 77: there are no two GPUs
 * that reach each other.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/kernels.h"
#include "shim/base/clock.h"
#include "tests/hw/litmus/litmus.h"
#include "tests/lib/gpu.h"

enum { STATUS_USAGE = 2, STATUS_SKIPPED = 77 };

struct side {
    CUcontext ctx;
    CUstream stream;
    CUfunction kernel;
    CUdeviceptr memory; /* words, then units */
};

/* Words of a side, in bytes, each in a line of its own. */
enum { WORD = 0, EARLY = 128, LATE = 256, TICKET = 384, UNITS = 512 };

static struct side writer, reader;
static unsigned blocks = 32, threads = 256, limit = 300;
static uint64_t rounds = 1000000;
static bool no_weak;

static size_t bytes_of_units(void)
{
    return (size_t)blocks * threads * LITMUS_UNITS * 16;
}

static void side_open(struct side *side, int device, const char *kernel)
{
    CUmodule module;

    MGDS_CU(cuDevicePrimaryCtxRetain(&side->ctx, device));
    MGDS_CU(cuCtxSetCurrent(side->ctx));
    MGDS_CU(cuStreamCreate(&side->stream, CU_STREAM_NON_BLOCKING));
    MGDS_CU(cuModuleLoadData(&module, mgds_kernel_image));
    MGDS_CU(cuModuleGetFunction(&side->kernel, module, kernel));
    MGDS_CU(cuMemAlloc(&side->memory, UNITS + bytes_of_units()));
}

static bool reach_each_other(void)
{
    int there = 0, back = 0;

    MGDS_CU(cuDeviceCanAccessPeer(&there, 0, 1));
    MGDS_CU(cuDeviceCanAccessPeer(&back, 1, 0));
    return there && back;
}

static bool sides_open(void)
{
    char why[256];
    int count = 0;

    if (mgds_test_gpu_open(0, why) < 0) {
        printf("skipped: %s\n", why);
        return false;
    }
    MGDS_CU(cuDeviceGetCount(&count));
    if (count < 2 || !reach_each_other()) {
        printf("skipped: no two GPUs that reach each other's memory\n");
        return false;
    }
    side_open(&writer, 0, "litmus_writer");
    side_open(&reader, 1, "litmus_reader");
    MGDS_CU(cuCtxEnablePeerAccess(writer.ctx, 0));
    MGDS_CU(cuCtxSetCurrent(writer.ctx));
    MGDS_CU(cuCtxEnablePeerAccess(reader.ctx, 0));
    return true;
}

static void side_wipe(const struct side *side)
{
    MGDS_CU(cuCtxSetCurrent(side->ctx));
    MGDS_CU(cuMemsetD8Async(side->memory, 0, UNITS + bytes_of_units(),
                            side->stream));
    MGDS_CU(cuStreamSynchronize(side->stream));
}

static void side_launch(const struct side *side, struct litmus_args args)
{
    void *params[] = {&args};

    args.ticket = side->memory + TICKET;
    MGDS_CU(cuCtxSetCurrent(side->ctx));
    MGDS_CU(cuLaunchKernel(side->kernel, blocks, 1, 1, threads, 1, 1, 0,
                           side->stream, params, NULL));
}

static void side_end(const struct side *side)
{
    MGDS_CU(cuCtxSetCurrent(side->ctx));
    MGDS_CU(cuStreamSynchronize(side->stream));
}

static uint32_t count_at(CUdeviceptr at)
{
    uint32_t value = 0;

    MGDS_CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)&value, at, sizeof(value),
                          reader.stream));
    side_end(&reader);
    return value;
}

static const char *const forms[] = {"weak", "dependent", "released"};

/* How many reads were wrong. */
static uint64_t run(enum litmus_form form, bool kept)
{
    const struct litmus_args args = {.units = writer.memory + UNITS,
                                     .done = writer.memory + WORD,
                                     .ready = reader.memory + WORD,
                                     .copy = reader.memory + UNITS,
                                     .early = reader.memory + EARLY,
                                     .late = reader.memory + LATE,
                                     .rounds = rounds,
                                     .form = form,
                                     .kept = kept};
    uint64_t begin, early, late;

    side_wipe(&writer);
    side_wipe(&reader);
    begin = mgds_clock_ns();
    side_launch(&reader, args);
    side_launch(&writer, args);
    side_end(&writer);
    side_end(&reader);
    begin = mgds_clock_ns() - begin;
    early = count_at(args.early);
    late = count_at(args.late);
    printf("%-9s %s  %llu early and %llu late of %llu reads, %llu ns a round\n",
           forms[form], kept ? "kept" : "used", (unsigned long long)early,
           (unsigned long long)late,
           (unsigned long long)rounds * blocks * threads * LITMUS_UNITS,
           (unsigned long long)(begin / rounds));
    fflush(stdout);
    return early + late;
}

static uint64_t number(const char *text, uint64_t most)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);

    return *end || value > most ? 0 : value;
}

static bool is_power_of_2(unsigned n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static bool options_take(int argc, char **argv)
{
    static const struct option names[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"blocks", required_argument, NULL, 'b'},
        {"threads", required_argument, NULL, 't'},
        {"limit", required_argument, NULL, 'l'},
        {"no-weak", no_argument, NULL, 'n'},
        {0},
    };
    int found;

    while ((found = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        if (found == 'r')
            rounds = number(optarg, UINT32_MAX);
        else if (found == 'b')
            blocks = (unsigned)number(optarg, 1024);
        else if (found == 't')
            threads = (unsigned)number(optarg, 1024);
        else if (found == 'l')
            limit = (unsigned)number(optarg, 86400);
        else if (found == 'n')
            no_weak = true;
        else
            return false;
    }
    return optind == argc && rounds > 0 && threads > 0 && limit > 0 &&
           is_power_of_2(blocks);
}

int main(int argc, char **argv)
{
    uint64_t wrong;

    if (!options_take(argc, argv)) {
        fprintf(stderr,
                "usage: %s [--rounds N] [--blocks N, a power of 2] "
                "[--threads N] [--limit SECONDS] [--no-weak]\n",
                argv[0]);
        return STATUS_USAGE;
    }
    if (!sides_open())
        return STATUS_SKIPPED;
    alarm(limit); /* a word that never comes ends it */
    if (!no_weak) {
        run(LITMUS_WEAK, false);
        run(LITMUS_WEAK, true);
    }
    wrong = run(LITMUS_DEPENDENT, false) + run(LITMUS_DEPENDENT, true);
    wrong += run(LITMUS_RELEASED, false) + run(LITMUS_RELEASED, true);
    return wrong > 0;
}
