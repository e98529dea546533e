/* The file of a process's trace; see trace_file.h. */
#include "shim/base/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/base/path.h"
#include "shim/base/thread.h"
#include "shim/base/trace.h"
#include "shim/base/trace_json.h"

enum { PAUSE_MS = 100, BUFFER = 1 << 16, ROOM = 3 * MGDS_TRACE_LINE };

static const char closing[] = "\n]\n";

static struct {
    int fd;
    int error; /* of the first write that failed */
    pid_t owner;
    atomic_bool open;
    char path[PATH_MAX];
    bool known; /* path is of this process */
    off_t size; /* with which it was closed; -1: not as it should */
    struct mgds_trace_process process;
    pthread_t thread;
    atomic_bool stop;
    struct mgds_text text;
    char buffer[BUFFER];
} file;

/* Takes away the part of an event that was written last. */
static void cut_to(off_t end)
{
    if (end >= 0 && ftruncate(file.fd, end) < 0)
        mgds_debug("the end of trace file '%s' is not cut: %m", file.path);
}

static void fail(int error)
{
    file.error = -error;
    errno = error;
    mgds_err("trace file '%s': %m; events from here on are not in it",
             file.path);
}

static void flush(void)
{
    const size_t length = (size_t)(file.text.end - file.buffer);
    off_t begin = lseek(file.fd, 0, SEEK_END);

    for (size_t done = 0; done < length && file.error == 0;) {
        ssize_t n = write(file.fd, file.buffer + done, length - done);

        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            fail(errno);
            cut_to(begin);
        }
    }
    mgds_text_init(&file.text, file.buffer, sizeof(file.buffer));
}

static void make_room(void)
{
    if (file.text.left < ROOM)
        flush();
}

static void tell_lost(struct mgds_trace_ring *ring)
{
    struct mgds_trace_notes *notes = mgds_trace_notes(ring);
    uint32_t thread;
    uint64_t lost = mgds_trace_lost(ring, &thread);

    if (lost == notes->lost)
        return;
    make_room();
    mgds_trace_json_lost(&file.text, file.process.pid, thread,
                         lost - notes->lost);
    notes->lost = lost;
}

/* Not more than a ring full at a time, so that every ring has its turn. */
static void drain_ring(struct mgds_trace_ring *ring)
{
    const struct mgds_trace_entry *entry;

    for (unsigned i = 0; i < MGDS_TRACE_RING; i++) {
        entry = mgds_trace_peek(ring);
        if (!entry)
            break;
        make_room();
        mgds_trace_json_event(&file.text, file.process.pid,
                              mgds_trace_notes(ring), entry);
        mgds_trace_drop(ring);
    }
    tell_lost(ring);
}

static void drain(void)
{
    struct mgds_trace_ring *ring = NULL;

    while ((ring = mgds_trace_next_ring(ring)) != NULL)
        drain_ring(ring);
    flush();
}

static void *run(void *arg)
{
    (void)arg;
    prctl(PR_SET_NAME, "mpix-gds-trace");
    for (drain(); !atomic_load(&file.stop); drain())
        mgds_trace_wait(PAUSE_MS);
    return NULL;
}

/* The bracket at the end of a file of ours goes. False: it is not such a file
 * any more. */
static bool reopen(void)
{
    struct stat found;
    off_t end;

    if (fstat(file.fd, &found) < 0 || !S_ISREG(found.st_mode))
        return false;
    end = found.st_size - (off_t)strlen(closing);
    return found.st_size == file.size && ftruncate(file.fd, end) == 0;
}

static void describe(int rank)
{
    struct mgds_trace_process *process = &file.process;

    process->rank = rank;
    process->pid = rank >= 0 ? rank : (int)getpid();
    if (gethostname(process->host, sizeof(process->host) - 1) < 0)
        process->host[0] = '\0';
    snprintf(process->program, sizeof(process->program), "%s",
             program_invocation_short_name);
}

static int open_file(const char *path, int rank)
{
    bool again = file.known && strcmp(path, file.path) == 0;
    int fd = mgds_file_open(path, again);

    if (fd < 0)
        return fd;
    file.fd = fd;
    file.error = 0;
    file.owner = getpid();
    snprintf(file.path, sizeof(file.path), "%s", path);
    mgds_text_init(&file.text, file.buffer, sizeof(file.buffer));
    if (again && reopen())
        return 0;
    describe(rank);
    mgds_trace_json_head(&file.text, &file.process);
    return 0;
}

static int open_pattern(const char *pattern, int rank)
{
    char path[PATH_MAX];
    int rc = mgds_path_expand(path, sizeof(path), pattern, rank);

    if (rc == 0)
        rc = open_file(path, rank);
    if (rc < 0)
        return rc;
    atomic_store(&file.stop, false);
    rc = mgds_thread_start(&file.thread, run);
    if (rc < 0)
        close(file.fd);
    return rc;
}

int mgds_trace_open(const char *pattern, int rank)
{
    int rc = -EBUSY;

    if (!atomic_load(&file.open) || file.owner != getpid()) {
        if (file.owner != getpid())
            file.known = false;
        rc = open_pattern(pattern, rank);
        file.known = rc == 0;
        atomic_store(&file.open, rc == 0);
    }
    if (rc < 0) {
        errno = -rc;
        mgds_err("trace file '%s': %m%s", pattern, mgds_file_advice(rc));
        mgds_trace_stop();
    }
    return rc;
}

static void close_calls(void)
{
    struct mgds_trace_ring *ring = NULL;

    while ((ring = mgds_trace_next_ring(ring)) != NULL) {
        struct mgds_trace_notes *notes = mgds_trace_notes(ring);

        while (notes->depth > 0) {
            make_room();
            mgds_trace_json_close(&file.text, file.process.pid, notes);
        }
    }
}

int mgds_trace_close(void)
{
    if (file.owner != getpid() || !atomic_exchange(&file.open, false))
        return 0;
    atomic_store(&file.stop, true);
    mgds_trace_wake();
    pthread_join(file.thread, NULL);
    drain();
    close_calls();
    mgds_text_add(&file.text, "%s", closing);
    flush();
    file.size = file.error == 0 ? lseek(file.fd, 0, SEEK_END) : -1;
    if (close(file.fd) < 0 && file.error == 0)
        fail(errno);
    return file.error;
}
