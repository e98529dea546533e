/* mpix-gds-verify-hca: tries on each port of an RDMA device what messages over
 * it rely on. The doctor starts it (--verify-hca). */
#include <stdio.h>
#include <string.h>

#include "tools/verify/verify.h"

static const char usage[] =
    "usage: mpix-gds-verify-hca\n"
    "Tries, on each active port of a ConnectX that UCX_NET_DEVICES allows, "
    "what\n"
    "messages over it rely on: two queue pairs of this process talk to each\n"
    "other. MPIX_GDS_IB_* say how they are connected.\n"
    "  --version, --help  print that, and exit\n"
    "Exit status: 0 all well, 1 there is no port to try, 2 something failed.\n";

/* The answer to a command line that has words: an exit status. */
static int answer(const char *word)
{
    if (strcmp(word, "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (strcmp(word, "--version") == 0)
        return printf("mpix-gds-verify-hca %s\n", MGDS_VERSION) < 0;
    fprintf(stderr,
            "mpix-gds-verify-hca: %s: no word that it takes: see --help\n",
            word);
    return MGDS_VERIFY_BROKEN;
}

int main(int argc, char **argv)
{
    int status = argc > 1 ? answer(argv[1]) : mgds_verify_hca();

    return fflush(stdout) != 0 ? MGDS_VERIFY_BROKEN : status;
}
