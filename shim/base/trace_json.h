/* Trace events as lines of JSON, in the trace event format that Perfetto and
 * chrome://tracing read: an array, one event a line. docs/tracing.md is the
 * list of what stands in them. */
#ifndef MGDS_BASE_TRACE_JSON_H
#define MGDS_BASE_TRACE_JSON_H

#include <stdint.h>

#include "shim/base/text.h"
#include "shim/base/trace.h"

/* No line is longer, the newline included. */
enum { MGDS_TRACE_LINE = 1024 };

/* Raised when what stands in the lines changes so that readers must know. */
enum { MGDS_TRACE_FORMAT = 1 };

struct mgds_trace_process {
    int pid;  /* the rank, or the process id if there is none */
    int rank; /* -1: none */
    char host[65];
    char program[65];
};

/* Who, where, and when: the first lines of a file. */
void mgds_trace_json_head(struct mgds_text *text,
                          const struct mgds_trace_process *process);

/* A comma, and the lines of one event. A call that has not ended though one is
 * made from outside it (it was left by longjmp, or its end was lost) ends here,
 * and an end without its beginning is left out. */
void mgds_trace_json_event(struct mgds_text *text, int pid,
                           struct mgds_trace_notes *notes,
                           const struct mgds_trace_entry *entry);

/* So many events of the thread were lost. */
void mgds_trace_json_lost(struct mgds_text *text, int pid, uint32_t thread,
                          uint64_t count);

/* The innermost call that is open ends, since the trace does. */
void mgds_trace_json_close(struct mgds_text *text, int pid,
                           struct mgds_trace_notes *notes);

#endif
