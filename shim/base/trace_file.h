/* The file of a process's trace. A thread of ours empties the rings (trace.h)
 * into it, ten times a second and when one is half full: so it can be read
 * while the program runs, and after the process was killed: of events that
 * are whole, but for the last. Only the bracket that closes the array comes at
 * the end, which readers of the format do without.
 *
 * Concurrency: open by one thread at a time; close by any, of which one has
 * something to do. A forked child writes nothing: there, close does nothing. */
#ifndef MGDS_BASE_TRACE_FILE_H
#define MGDS_BASE_TRACE_FILE_H

/* Opens the file that the pattern (path.h) names, for its owner alone (file.h),
 * and starts the thread. A file that this process has closed goes on where it
 * ended. Negative errno if that fails, -EBUSY if it is open: one line in the
 * log says so, and the rings are turned off. */
int mgds_trace_open(const char *pattern, int rank);

/* Writes what the rings hold, ends calls that are open, closes the array and
 * the file. Negative errno: of this, or of a write since; a line said so. 0 too
 * if no file is open here. */
int mgds_trace_close(void);

#endif
