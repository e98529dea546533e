/* D3: no socket of ours while all members are on one host, where messages go
 * through memory; with others there is one, which shows that the case would
 * see it. The MPI below is told to have none. */
#include "tests/enq/enq.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int sockets_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int count = 0;

    CHECK(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        char path[300], target[64];
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        length = readlink(path, target, sizeof(target));
        count += length > 7 && strncmp(target, "socket:", 7) == 0;
    }
    closedir(folder);
    return count;
}

/* Those of the network namespace that are of this process are among them, so
 * none of its sockets listens if it has no new one. */
static void d3_no_socket(void)
{
    int before = sockets_open();
    int word = enq.rank, got;
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_LARGE);
    for (int i = 0; enq.rank < 2 && i < 3; i++)
        ENQ_OK(MPI_Sendrecv(&word, 1, MPI_INT, 1 - enq.rank, 0, &got, 1,
                            MPI_INT, 1 - enq.rank, 0, lane.comm,
                            MPI_STATUS_IGNORE));
    CHECK(enq.rank >= 2 || got == 1 - enq.rank);
    if (getenv("MPIX_SIM_HOST"))
        CHECK(sockets_open() > before);
    else
        CHECK(sockets_open() == before);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"d3_no_socket", 2, d3_no_socket},
        {0},
    };

    return enq_main(argc, argv, "enq near", cases);
}
