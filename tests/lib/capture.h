/* What a piece of code writes to the log, as text. One capture at a time. */
#ifndef MGDS_TEST_CAPTURE_H
#define MGDS_TEST_CAPTURE_H

#include "shim/base/log.h"

/* Log lines up to level go to memory from now on, tagged [rank 7]. */
void mgds_capture_start(enum mgds_log_level level);

/* Ends the capture and returns what was written; the caller frees it. */
char *mgds_capture_stop(void);

/* Number of newlines. */
unsigned mgds_count_lines(const char *text);

#endif
