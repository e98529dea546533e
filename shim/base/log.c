/* Lines for people; see log.h. Writes to file descriptors only: stdio of the
 * application may be in any state when we are called. */
#include "shim/base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/file.h"
#include "shim/base/path.h"

#define LINE_MAX_BYTES 1024 /* below PIPE_BUF: lines of ranks do not mix */

const char *const mgds_log_level_names[] = {"none", "error", "warn",
                                            "info", "debug", NULL};

atomic_int mgds_log_threshold = MGDS_LOG_WARN;
static atomic_int log_fd = STDERR_FILENO;
static atomic_int log_rank = -1;

static int load(atomic_int *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void store(atomic_int *value, int to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

static int write_all(int fd, const char *line, size_t left)
{
    while (left > 0) {
        ssize_t n = write(fd < 0 ? load(&log_fd) : fd, line, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        line += n;
        left -= (size_t)n;
    }
    return 0;
}

static size_t put_prefix(char *line, size_t size, const char *level)
{
    int rank = load(&log_rank);
    int n = rank >= 0
                ? snprintf(line, size, "mpix-gds[rank %d]: %s", rank, level)
                : snprintf(line, size, "mpix-gds[pid %d]: %s", (int)getpid(),
                           level);
    return n < 0 ? 0 : (size_t)n;
}

/* Values of the environment are quoted in lines: keep it one line. */
static void hide_controls(char *text)
{
    for (; *text != '\0'; ++text) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

static int write_line(int fd, const char *level, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

static int write_line(int fd, const char *level, const char *fmt, va_list args)
{
    int saved = errno;
    char line[LINE_MAX_BYTES];
    const size_t room = sizeof(line) - 1; /* one byte for the newline */
    size_t used = put_prefix(line, room, level);
    errno = saved; /* for %m */
    int n = vsnprintf(line + used, room - used, fmt, args);
    if (n < 0)
        n = snprintf(line + used, room - used, "(unprintable line)");
    hide_controls(line + used);
    if ((size_t)n >= room - used)
        memcpy(line + room - 4, "...", 4);
    size_t length = strlen(line);
    line[length++] = '\n';
    int rc = write_all(fd, line, length);
    errno = saved;
    return rc;
}

void mgds_log_write(enum mgds_log_level level, const char *fmt, ...)
{
    static const char *const tags[] = {
        "", "error: ", "warn: ", "info: ", "debug: "};
    va_list args;
    va_start(args, fmt);
    write_line(-1, tags[level], fmt, args); /* nowhere to complain */
    va_end(args);
}

void mgds_log_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_line(-1, "", fmt, args);
    va_end(args);
}

int mgds_log_to(int fd, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int rc = write_line(fd, "", fmt, args);
    va_end(args);
    return rc;
}

static bool is_pipe(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* Nothing tells a writer when its pipe has been read: so this looks. */
void mgds_log_settle(void)
{
    static const struct timespec step = {.tv_nsec = 1000000};
    int fd = load(&log_fd), unread = 0;
    if (!is_pipe(fd))
        return;
    for (int i = 0; i < 1000; ++i) {
        if (ioctl(fd, FIONREAD, &unread) != 0 || unread == 0)
            return;
        nanosleep(&step, NULL);
    }
}

void mgds_log_safely(const char *text)
{
    write_all(-1, text, strlen(text));
}

static void use_fd(int fd)
{
    int old = atomic_exchange(&log_fd, fd);
    if (old != STDERR_FILENO)
        close(old);
}

/* Descriptor of the file that the pattern names, standard error without. */
static int open_file(const char *pattern, int rank)
{
    char path[PATH_MAX];
    int rc = mgds_path_expand(path, sizeof(path), pattern, rank);
    if (rc < 0) {
        errno = -rc;
        mgds_warn("log file '%s': %m: using standard error", pattern);
        return STDERR_FILENO;
    }
    int fd = mgds_file_open(path, true);
    if (fd < 0) {
        errno = -fd;
        mgds_warn("log file '%s': %m%s: using standard error", path,
                  mgds_file_advice(fd));
        return STDERR_FILENO;
    }
    return fd;
}

void mgds_log_init(enum mgds_log_level level, const char *file, int rank)
{
    store(&mgds_log_threshold, (int)level);
    store(&log_rank, rank);
    use_fd(file && file[0] != '\0' ? open_file(file, rank) : STDERR_FILENO);
}

void mgds_log_fini(void)
{
    use_fd(STDERR_FILENO);
    store(&mgds_log_threshold, MGDS_LOG_WARN);
    store(&log_rank, -1);
}

void mgds_log_set_rank(int rank)
{
    store(&log_rank, rank);
}
