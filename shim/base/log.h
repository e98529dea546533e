/* Lines for people: one write(2) each, tagged with the rank, on standard
 * error or in a file. Usable from any thread and before any set-up; nothing
 * is allocated. This is the only file that prints on its own account. */
#ifndef MGDS_BASE_LOG_H
#define MGDS_BASE_LOG_H

#include <stdatomic.h>

enum mgds_log_level {
    MGDS_LOG_NONE,
    MGDS_LOG_ERROR,
    MGDS_LOG_WARN,
    MGDS_LOG_INFO,
    MGDS_LOG_DEBUG,
};

/* Names in the order of the enum, closed by NULL. */
extern const char *const mgds_log_level_names[];

/* Lines up to this level are written; MGDS_LOG_WARN before mgds_log_init. */
extern atomic_int mgds_log_threshold;

/* Sets the level and where lines go: a file pattern (path.h), or standard
 * error for NULL, "" and a file that cannot be opened (one line says so).
 * rank tags the lines; -1 means unknown, then the pid stands there. May be
 * called again, but not while other threads write lines. */
void mgds_log_init(enum mgds_log_level level, const char *file, int rank);

/* Back to the state before mgds_log_init; closes the file. */
void mgds_log_fini(void);

/* The rank in MPI_COMM_WORLD, once it is known. */
void mgds_log_set_rank(int rank);

/* One line, whatever the level: for what the user asked to see (a summary)
 * and for the last words before abort. Control characters become '?', what
 * does not fit a line is cut and marked "...". Keeps errno, so "%m" works and
 * callers need not save it. */
void mgds_log_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same to a descriptor, or where lines go if that is negative. 0 or
 * negative errno. */
int mgds_log_to(int fd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Until the lines are read, if they go to a pipe; for a second at most.
 * Ahead of an abort: launchers (Hydra) lose what they have not read by then. */
void mgds_log_settle(void);

/* The text as it is, which ends with a newline: by a signal handler. */
void mgds_log_safely(const char *text);

/* What the macros below expand to; they test the level first. */
void mgds_log_write(enum mgds_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Arguments are evaluated only if the line is written. */
#define mgds_log_at(level, ...)                                                \
    ((int)(level) <=                                                           \
             atomic_load_explicit(&mgds_log_threshold, memory_order_relaxed)   \
         ? mgds_log_write((level), __VA_ARGS__)                                \
         : (void)0)

#define mgds_err(...) mgds_log_at(MGDS_LOG_ERROR, __VA_ARGS__)
#define mgds_warn(...) mgds_log_at(MGDS_LOG_WARN, __VA_ARGS__)
#define mgds_info(...) mgds_log_at(MGDS_LOG_INFO, __VA_ARGS__)
#define mgds_debug(...) mgds_log_at(MGDS_LOG_DEBUG, __VA_ARGS__)

/* The first time this statement is reached in the process, by any thread. */
#define mgds_warn_once(...)                                                    \
    do {                                                                       \
        static atomic_flag mgds_said = ATOMIC_FLAG_INIT;                       \
        if (!atomic_flag_test_and_set_explicit(&mgds_said,                     \
                                               memory_order_relaxed))          \
            mgds_warn(__VA_ARGS__);                                            \
    } while (0)

#endif
