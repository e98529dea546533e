/* The worker's end of the report pipe. */
#include "report.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "gate.h"

static int report_fd = -1;
static atomic_bool failed;

void mgds_report_open(int fd)
{
    report_fd = fd;
}

bool mgds_report_failed(void)
{
    return failed;
}

/* One line, one write: lines shorter than PIPE_BUF do not mix. */
static void say(char kind, const char *text)
{
    char line[1024];
    int n = snprintf(line, sizeof(line), "%c %.1000s\n", kind, text);

    for (char *c = line; c < line + n - 1; c++)
        if (*c == '\n')
            *c = ' ';
    if (report_fd < 0)
        fputs(line, stderr);
    else if (write(report_fd, line, (size_t)n) != n)
        _exit(70);
}

static void vsay(char kind, const char *file, int line, const char *fmt,
                 va_list args)
{
    char text[800], where[1000];
    const char *base = file ? strrchr(file, '/') : NULL;

    vsnprintf(text, sizeof(text), fmt, args);
    if (file)
        snprintf(where, sizeof(where), "%s:%d: %s", base ? base + 1 : file,
                 line, text);
    say(kind, file ? where : text);
}

void mgds_report_end(void)
{
    say('E', "");
}

void mgds_case_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    failed = true;
    va_start(args, fmt);
    vsay('F', file, line, fmt, args);
    va_end(args);
}

void mgds_case_abort(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    failed = true;
    va_start(args, fmt);
    vsay('F', file, line, fmt, args);
    va_end(args);
    mgds_hwqueue_open_all();
    _exit(1);
}

void mgds_case_note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsay('N', NULL, 0, fmt, args);
    va_end(args);
}

void mgds_case_skip(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsay('S', NULL, 0, fmt, args);
    va_end(args);
}

void mgds_case_fail_signal(const char *text)
{
    char line[256] = "F ";
    size_t n = strnlen(text, sizeof(line) - 4);

    failed = true;
    memcpy(line + 2, text, n);
    line[n + 2] = '\n';
    if (report_fd >= 0 && write(report_fd, line, n + 3) < 0)
        _exit(70);
}

static const char *name_of(int code)
{
    const char *name = NULL;

    if (!cu.GetErrorName ||
        cu.GetErrorName((CUresult)code, &name) != CUDA_SUCCESS)
        return "?";
    return name ? name : "?";
}

bool mgds_expect_cu(const char *file, int line, const char *call, int want,
                    int got)
{
    if (want == got)
        return true;
    mgds_case_fail(file, line, "%.300s: want %s (%d), got %s (%d)", call,
                   name_of(want), want, name_of(got), got);
    return false;
}

void mgds_must_cu(const char *file, int line, const char *call, int got)
{
    if (!mgds_expect_cu(file, line, call, CUDA_SUCCESS, got))
        mgds_case_abort(file, line, "cannot go on");
}

bool mgds_expect(const char *file, int line, const char *what, bool holds)
{
    if (!holds)
        mgds_case_fail(file, line, "not so: %s", what);
    return holds;
}

bool mgds_expect_eq(const char *file, int line, const char *what, uint64_t want,
                    uint64_t got)
{
    if (want == got)
        return true;
    mgds_case_fail(file, line, "%.300s: want %#llx, got %#llx", what,
                   (unsigned long long)want, (unsigned long long)got);
    return false;
}
