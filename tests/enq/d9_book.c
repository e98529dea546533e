/* What the library writes, for cases to look at; see d9_watch.h. */
#include "tests/enq/d9_watch.h"

#include <regex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What was written, and how much of it is on standard output. */
static struct {
    int fd;
    size_t shown;
    char text[MUCH];
} book;

void book_open(void)
{
    char path[64];

    book.fd = memfd_create("lines", MFD_CLOEXEC);
    CHECK(book.fd >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", book.fd);
    CHECK(setenv("MPIX_GDS_LOG_FILE", path, 1) == 0);
}

void book_read(int fd, char text[MUCH])
{
    ssize_t n = pread(fd, text, MUCH - 1, 0);

    CHECK(n >= 0);
    text[n] = '\0';
}

const char *book_text(void)
{
    size_t length;

    book_read(book.fd, book.text);
    length = strlen(book.text);
    if (length > book.shown) {
        fputs(book.text + book.shown, stdout);
        fflush(stdout);
    }
    book.shown = length;
    return book.text;
}

int count_in(const char *text, const char *pattern)
{
    regex_t expression;
    regmatch_t at;
    int count = 0;

    CHECK(regcomp(&expression, pattern, REG_EXTENDED | REG_NEWLINE) == 0);
    while (regexec(&expression, text, 1, &at, 0) == 0) {
        count++;
        text += at.rm_eo;
    }
    regfree(&expression);
    return count;
}

int count(const char *pattern)
{
    return count_in(book_text(), pattern);
}

void await(const char *pattern, int lines)
{
    while (count(pattern) < lines)
        sched_yield();
}

void open_named(struct enq_lane *lane, struct enq_buffer *b, size_t bytes)
{
    enq_lane_open(lane);
    ENQ_OK(MPI_Comm_set_name(lane->comm, "halo"));
    enq_buffer_open(b, bytes);
    enq_fill(b, 1);
}

void close_both(struct enq_lane *lane, struct enq_buffer *b)
{
    enq_lane_close(lane);
    enq_buffer_close(b);
}
