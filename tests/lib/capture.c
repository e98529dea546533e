/* What a piece of code writes to the log; see capture.h. */
#include "tests/lib/capture.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static int memory = -1;

void mgds_capture_start(enum mgds_log_level level)
{
    char path[64];
    memory = memfd_create("captured log", MFD_CLOEXEC);
    assert_true(memory >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    mgds_log_init(level, path, 7);
}

char *mgds_capture_stop(void)
{
    mgds_log_fini();
    off_t size = lseek(memory, 0, SEEK_END);
    assert_true(size >= 0);
    char *text = (char *)malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(pread(memory, text, (size_t)size, 0), size);
    text[size] = '\0';
    close(memory);
    return text;
}

unsigned mgds_count_lines(const char *text)
{
    unsigned lines = 0;
    for (; *text != '\0'; ++text)
        lines += *text == '\n';
    return lines;
}
