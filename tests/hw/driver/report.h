/* What a running case says to the harness: failures, facts, skips. Lines go
 * over one pipe, each in one write, so threads and processes of a case may
 * all report. */
#ifndef MGDS_HW_REPORT_H
#define MGDS_HW_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/* Pipe to the harness; set once in each worker. */
void mgds_report_open(int fd);

/* True once this process has reported a failure. */
bool mgds_report_failed(void);

/* Ends the case's report. */
void mgds_report_end(void);

/* Records a failure; the case goes on. */
void mgds_case_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Records a failure, releases every gate and ends this process. */
_Noreturn void mgds_case_abort(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Keeps a fact about the driver in the JSON; never a failure. */
void mgds_case_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The case cannot run here and why; the case must return next. */
void mgds_case_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Async-signal-safe failure text (a constant). */
void mgds_case_fail_signal(const char *text);

/* What the macros below call: functions, so that a case of many checks stays
 * one without branches. True if it is as it should be. */
bool mgds_expect_cu(const char *file, int line, const char *call, int want,
                    int got);
void mgds_must_cu(const char *file, int line, const char *call, int got);
bool mgds_expect(const char *file, int line, const char *what, bool holds);
bool mgds_expect_eq(const char *file, int line, const char *what, uint64_t want,
                    uint64_t got);

/* The call's result is `want`; else a failure, and the case goes on. */
#define EXPECT_CU(want, call)                                                  \
    mgds_expect_cu(__FILE__, __LINE__, #call, (int)(want), (int)(call))

/* The call succeeds; else the case ends. */
#define OK(call) mgds_must_cu(__FILE__, __LINE__, #call, (int)(call))

/* Numbers, flags and addresses. */
#define EXPECT_EQ(want, got)                                                   \
    mgds_expect_eq(__FILE__, __LINE__, #got, (uint64_t)(want), (uint64_t)(got))

#define EXPECT(cond) mgds_expect(__FILE__, __LINE__, #cond, cond)

#define MUST(cond)                                                             \
    do {                                                                       \
        if (!(cond))                                                           \
            mgds_case_abort(__FILE__, __LINE__, "not so: %s", #cond);          \
    } while (0)

#endif
