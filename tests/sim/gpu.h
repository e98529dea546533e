/* What the tests of the software GPU share: a context, and calls that must
 * succeed. Each test runs in a child, since a process has one software GPU. */
#ifndef MGDS_TESTS_SIM_GPU_H
#define MGDS_TESTS_SIM_GPU_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sim/cuda/state.h"
#include "tests/lib/child.h"

static inline void gpu_expect(int claim, const char *file, int line,
                              const char *what, int got)
{
    if (claim)
        return;
    fprintf(stderr, "%s:%d: %s: got %d\n", file, line, what, got);
    _exit(1);
}

static inline void gpu_expect_rc(CUresult want, CUresult got, const char *file,
                                 int line, const char *what)
{
    gpu_expect(got == want, file, line, what, (int)got);
}

/* End the child, saying where, if a call fails or a claim is false. */
#define EXPECT_RC(want, call)                                                  \
    gpu_expect_rc(want, call, __FILE__, __LINE__, #call)
#define OK(call) EXPECT_RC(CUDA_SUCCESS, call)
#define CLAIM(claim) gpu_expect(!!(claim), __FILE__, __LINE__, #claim, 0)

/* For bodies that are to crash: neither cmocka's nor a sanitizer's handler. */
static inline void gpu_crash_plainly(void)
{
    signal(SIGSEGV, SIG_DFL);
}

/* True if SIGSEGV ended the child. */
static inline int gpu_crashed(const struct mgds_child *child)
{
    return WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGSEGV;
}

static inline void gpu_start(void)
{
    CUcontext ctx;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
}

/* Runs body in a child, which must end well; what it wrote is returned. */
static inline void gpu_test(struct mgds_child *child, void (*body)(void *arg),
                            void *arg)
{
    mgds_child_run(child, body, arg);
    if (child->status)
        print_error("%s", child->errors);
    assert_int_equal(child->status, 0);
}

/* A test that is one such body. */
#define GPU_TEST(name)                                                         \
    static void name##_body(void *arg);                                        \
    static void name(void **state)                                             \
    {                                                                          \
        static struct mgds_child child;                                        \
        (void)state;                                                           \
        gpu_test(&child, name##_body, NULL);                                   \
    }                                                                          \
    static void name##_body(void *arg)

#endif
