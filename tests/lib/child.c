/* Code that dies, run in a child; see child.h. */
#include "tests/lib/child.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void run_body(void (*body)(void *arg), void *arg, int errors)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(errors, STDERR_FILENO);
    body(arg);
    _exit(0);
}

/* One read is one write: the pipe is in packet mode. */
static void read_all(struct mgds_child *child, int from)
{
    size_t used = 0;
    ssize_t n;
    child->writes = 0;
    while ((n = read(from, child->errors + used,
                     sizeof(child->errors) - 1 - used)) > 0) {
        used += (size_t)n;
        ++child->writes;
    }
    child->errors[used] = '\0';
}

void mgds_child_run(struct mgds_child *child, void (*body)(void *arg),
                    void *arg)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_DIRECT | O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_body(body, arg, ends[1]);
    close(ends[1]);
    read_all(child, ends[0]);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &child->status, 0), pid);
}
