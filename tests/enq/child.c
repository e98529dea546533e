/* A process that waits for the rank; see child.h. */
#include "tests/enq/child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/enq/enq.h"

void be_a_child(void)
{
    int status = 0;
    pid_t child;

    signal(SIGUSR1, SIG_IGN);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        _exit(WTERMSIG(status) == SIGKILL ? 0 : 1);
    _exit(WEXITSTATUS(status));
}
