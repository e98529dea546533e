/*
 * Host addresses known without asking; see hostaddr.h.
 *
 * Concurrency: the ranges of the image and the start of the heap are found
 * once (once.h); the break is read from libc at each call; the bounds of a
 * stack belong to its thread.
 */
#include "shim/gds/cuda/hostaddr.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/once.h"

enum { MAX_SEGMENTS = 8 };

/* Constant once found. */
static struct mgds_hostrange segments[MAX_SEGMENTS];
static struct mgds_hostrange image; /* all of them, and what is between */
static unsigned segments_used;
static struct mgds_once found_once = MGDS_ONCE_INIT;

uintptr_t mgds_hostaddr_no_heap = UINTPTR_MAX;
MGDS_TLS struct mgds_hostrange mgds_hostaddr_stack;

/* Segments are whole pages, and mostly follow one another: one range then. */
static void add_segment(uintptr_t start, uintptr_t end)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct mgds_hostrange whole = {start / page * page,
                                   (end + page - 1) / page * page};

    if (segments_used > 0 && segments[segments_used - 1].end == whole.start)
        segments[segments_used - 1].end = whole.end;
    else if (segments_used < MAX_SEGMENTS)
        segments[segments_used++] = whole;
}

/* The program comes first: one object is enough. */
static int find_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;

        if (header->p_type == PT_LOAD)
            add_segment(start, start + header->p_memsz);
    }
    return 1;
}

/* Field 47 of /proc/self/stat. The name of the program is the second, in
 * parentheses, and may hold anything; the last ')' closes it. */
static uintptr_t parse_heap_start(const char *line)
{
    enum { AFTER_NAME = 2, START_BRK = 47 };
    const char *at = strrchr(line, ')');

    for (int field = AFTER_NAME; at && field < START_BRK; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoul(at, NULL, 10) : 0;
}

static uintptr_t find_heap_start(void)
{
    char line[2048];
    ssize_t length;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    length = read(fd, line, sizeof(line) - 1);
    close(fd);
    line[length > 0 ? length : 0] = '\0';
    return parse_heap_start(line);
}

static void find_image(void)
{
    dl_iterate_phdr(find_segments, NULL);
    if (segments_used > 0)
        image = segments[0];
    for (unsigned i = 1; i < segments_used; i++) {
        if (segments[i].start < image.start)
            image.start = segments[i].start;
        if (segments[i].end > image.end)
            image.end = segments[i].end;
    }
}

static void find_ranges(void)
{
    uintptr_t heap = find_heap_start();

    find_image();
    if (heap != 0 && &mgds_hostaddr_heap_end)
        __atomic_store_n(&mgds_hostaddr_no_heap, heap - 1, __ATOMIC_RELAXED);
}

/* Of the main thread's stack only the last 8 MiB count: it may be declared
 * without limit, and then others map memory between it and what it uses. */
static void find_stack(void)
{
    enum { MOST = 8 << 20 };
    pthread_attr_t attr;
    void *start;
    size_t size;

    mgds_hostaddr_stack =
        (struct mgds_hostrange){1, 1}; /* empty, but looked for */
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &start, &size) == 0) {
        mgds_hostaddr_stack.end = (uintptr_t)start + size;
        mgds_hostaddr_stack.start =
            size > MOST ? mgds_hostaddr_stack.end - MOST : (uintptr_t)start;
    }
    pthread_attr_destroy(&attr);
}

static bool in_image(uintptr_t addr)
{
    if (!mgds_hostrange_contains(&image, addr))
        return false;
    for (unsigned i = 0; i < segments_used; i++) {
        if (mgds_hostrange_contains(&segments[i], addr))
            return true;
    }
    return false;
}

static __attribute__((noinline)) bool find_and_look(const void *addr)
{
    mgds_once(&found_once, find_ranges);
    if (mgds_hostaddr_stack.end == 0)
        find_stack();
    return mgds_hostaddr_near(addr) || in_image((uintptr_t)addr);
}

bool mgds_hostaddr_far(const void *addr)
{
    if (mgds_hostaddr_stack.end == 0 || !mgds_once_is_over(&found_once))
        return find_and_look(addr);
    return in_image((uintptr_t)addr);
}

/* The kernel copies the mask in before it looks at the first argument, which
 * is no valid one: EINVAL if it could read it, EFAULT if not, no effect. */
bool mgds_hostaddr_readable(const void *addr)
{
    enum { NO_SUCH_WAY = -1, MASK_BYTES = 8 };
    uintptr_t word = (uintptr_t)addr & ~(uintptr_t)(MASK_BYTES - 1);
    int before = errno;
    bool readable;

    syscall(SYS_rt_sigprocmask, NO_SUCH_WAY, word, NULL, MASK_BYTES);
    readable = word != 0 && errno != EFAULT; /* no mask at all is not read */
    errno = before;
    return readable;
}
