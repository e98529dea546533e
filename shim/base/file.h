/* Files of ours, in folders that others may write to as well. */
#ifndef MGDS_BASE_FILE_H
#define MGDS_BASE_FILE_H

#include <stdbool.h>

/* Opens a file for writing, for its owner alone: made with mode 0600, and given
 * that mode if it was there; emptied, or with append written to behind its end.
 * The descriptor, closed by exec, or negative errno:
 *   -ELOOP  a symbolic link, which is not followed
 *   -EPERM  it was there, and is another user's, or has a second name, or is no
 *           file: nothing of it was changed
 * Terminals and other character devices are files.
 * A file that the process has open already may be named, too, as /dev/stderr or
 * /proc/self/fd/7: it stays as it is, and is written behind its end. */
int mgds_file_open(const char *path, bool append);

/* The advice behind the text of an error: "" for most. */
const char *mgds_file_advice(int rc);

#endif
