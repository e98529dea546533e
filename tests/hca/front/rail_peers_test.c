/* Queues of shim/gds/hca in two processes: frames go through a socket, messages
 * by the HCA. The program starts itself again as the peer, which may be on
 * another host, have another kind of link, or die. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/gds/hca/news.h"
#include "tests/hca/front/rail_side.h"
#include "tests/lib/sanitized.h"

enum { DATA = 5000, WORD = 8, LAPS = 400, SLOT = 8192 };

/* What an end tells. */
struct card {
    uint8_t frame[MGDS_END_BYTES];
    struct side_memory memory;
};

static int peer_socket; /* of the peer */

static void tell(int fd, const void *bytes, size_t count)
{
    assert_int_equal(write(fd, bytes, count), count);
}

static void hear(int fd, void *bytes, size_t count)
{
    assert_int_equal(recv(fd, bytes, count, MSG_WAITALL), count);
}

/* Opens, exchanges cards, connects; both are in RTS then. */
static void meet(struct rail_side *side, struct side_memory *there, int fd)
{
    struct card mine, theirs;
    char ready = 0;

    memset(&mine, 0, sizeof(mine));
    side_open(side, mine.frame, &mine.memory);
    tell(fd, &mine, sizeof(mine));
    hear(fd, &theirs, sizeof(theirs));
    side_connect(side, theirs.frame);
    *there = theirs.memory;
    tell(fd, &ready, 1);
    hear(fd, &ready, 1);
}

/* The peer's environment differs by `setting`, if there is one. */
static pid_t start_peer(int *fd, const char *test, const char *setting)
{
    char number[16];
    int pair[2];
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    snprintf(number, sizeof(number), "%d", pair[1]);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(pair[0]);
        if (setting)
            putenv(strdup(setting));
        execl("/proc/self/exe", "hca_rail_peers", test, number, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    *fd = pair[0];
    return pid;
}

static int end_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static uint64_t *word_at(const struct rail_side *side, size_t offset)
{
    return (uint64_t *)(void *)(side->memory + offset);
}

/* Data in packets, and behind it the word n. */
static void push(struct rail_side *side, struct side_memory there, uint64_t n)
{
    uint32_t index;

    memset(side->memory, (int)(n & 0xff), DATA);
    side_put(side, mgds_wqe_write(side_path(side), 0, side_remote(there, SLOT),
                                  side_local(side, 0, DATA)));
    index = side_put(
        side, mgds_wqe_write_inline(side_path(side), MGDS_WQE_CE_ALWAYS,
                                    side_remote(there, SLOT + DATA), &n, WORD));
    mgds_sendq_ring(side->sendq);
    side_expect(side, index);
}

static void take(const struct rail_side *side, uint64_t n)
{
    side_await(word_at(side, SLOT + DATA), n);
    for (unsigned i = 0; i < DATA; i++)
        assert_int_equal(side->memory[SLOT + i], n & 0xff);
}

static void peer_answers(void **state)
{
    struct rail_side side;
    struct side_memory there;

    (void)state;
    meet(&side, &there, peer_socket);
    for (uint64_t n = 1; n <= mgds_test_laps(LAPS); n++) {
        take(&side, n);
        push(&side, there, n);
    }
    side_close(&side);
}

static void play(const char *setting)
{
    struct rail_side side;
    struct side_memory there;
    int fd;
    pid_t pid = start_peer(&fd, "answers", setting);

    meet(&side, &there, fd);
    for (uint64_t n = 1; n <= mgds_test_laps(LAPS); n++) {
        push(&side, there, n);
        take(&side, n);
    }
    assert_int_equal(end_of(pid), 0);
    side_close(&side);
    close(fd);
}

static void processes_write_to_each_other(void **state)
{
    (void)state;
    play(NULL);
}

static void so_do_processes_of_two_hosts(void **state)
{
    (void)state;
    play("MPIX_SIM_HOST=two");
}

/* The smaller one of both. */
static void the_peer_may_have_another_model(void **state)
{
    (void)state;
    play("MPIX_SIM_HCA_MODEL=cx5");
}

static void peer_dies(void **state)
{
    struct rail_side side;
    struct side_memory there;

    (void)state;
    meet(&side, &there, peer_socket);
    raise(SIGKILL);
}

/* An error, with a reason that names the peer, and nothing that hangs. */
static void a_dead_peer_is_an_error(void **state)
{
    struct rail_side side;
    struct side_memory there;
    struct mgds_completion completion;
    int fd;
    pid_t pid = start_peer(&fd, "dies", NULL);

    (void)state;
    meet(&side, &there, fd);
    assert_true(WIFSIGNALED(end_of(pid)));
    side_put(&side,
             mgds_wqe_write(side_path(&side), 0, side_remote(there, SLOT),
                            side_local(&side, 0, DATA)));
    mgds_sendq_ring(side.sendq);
    completion = side_wait(&side);
    assert_int_equal(completion.state, MGDS_CQE_FAILED);
    assert_int_equal(completion.syndrome, MGDS_SYNDROME_RETRY_EXCEEDED);
    side_close(&side);
    close(fd);
}

/* Tells what it hears of its port, then takes and sends a message. */
static void peer_listens(void **state)
{
    struct rail_side side;
    struct side_memory there;
    struct mgds_news news;

    (void)state;
    meet(&side, &there, peer_socket);
    for (unsigned i = 0; i < 2; i++) {
        side_await_news(&side, &news);
        tell(peer_socket, &news.kind, sizeof(news.kind));
    }
    take(&side, 1);
    push(&side, there, 1);
    side_close(&side);
}

/* As a whole, since it may be read at any time. */
static void set_control(const char *path, const char *text)
{
    char other[128];
    FILE *file;

    snprintf(other, sizeof(other), "%s.new", path);
    file = fopen(other, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(other, path), 0);
}

static void expect_news(int fd, enum mgds_news_kind kind)
{
    enum mgds_news_kind heard;

    hear(fd, &heard, sizeof(heard));
    assert_int_equal(heard, kind);
}

static void a_link_goes_and_comes(void **state)
{
    char path[64], setting[128];
    struct rail_side side;
    struct side_memory there;
    pid_t pid;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/mpix-gds-rail-peers.%d", getpid());
    snprintf(setting, sizeof(setting), "MPIX_SIM_HCA_CONTROL=%s", path);
    pid = start_peer(&fd, "listens", setting);
    meet(&side, &there, fd);
    set_control(path, "link=0\n");
    expect_news(fd, MGDS_NEWS_PORT_DOWN);
    set_control(path, "link=1\n");
    expect_news(fd, MGDS_NEWS_PORT_UP);
    push(&side, there, 1);
    take(&side, 1);
    assert_int_equal(end_of(pid), 0);
    assert_int_equal(unlink(path), 0);
    side_close(&side);
    close(fd);
}

/* Both ends find the same reason in the other one's frame. */
static void disagree(int fd)
{
    struct mgds_end mine = {.rails = 1}, theirs;
    struct mgds_refusal refusal;
    struct mgds_terms terms;
    struct rail_side side;
    struct card card, other;

    memset(&card, 0, sizeof(card));
    side_open(&side, card.frame, &card.memory);
    tell(fd, &card, sizeof(card));
    hear(fd, &other, sizeof(other));
    mgds_qp_describe(side.qp, &mine.rail[0]);
    assert_int_equal(
        mgds_end_unpack(&theirs, other.frame, MGDS_END_BYTES, &refusal), 0);
    assert_int_equal(mgds_end_agree(&mine, &theirs, &terms, &refusal),
                     -ENOTSUP);
    assert_int_equal(refusal.reason, MGDS_REFUSAL_LINKS);
    side_close(&side);
}

static void peer_disagrees(void **state)
{
    (void)state;
    disagree(peer_socket);
}

static void infiniband_and_roce_do_not_meet(void **state)
{
    int fd;
    pid_t pid = start_peer(&fd, "disagrees", "MPIX_SIM_HCA_LINK=roce");

    (void)state;
    disagree(fd);
    assert_int_equal(end_of(pid), 0);
    close(fd);
}

static int run_peer(const char *test)
{
    static const struct {
        const char *name;
        CMUnitTestFunction run;
    } rows[] = {{"answers", peer_answers},
                {"dies", peer_dies},
                {"listens", peer_listens},
                {"disagrees", peer_disagrees}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct CMUnitTest tests[] = {
            {.name = rows[i].name, .test_func = rows[i].run}};

        if (strcmp(test, rows[i].name) == 0)
            return cmocka_run_group_tests(tests, NULL, NULL);
    }
    return 127;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_write_to_each_other),
        cmocka_unit_test(so_do_processes_of_two_hosts),
        cmocka_unit_test(the_peer_may_have_another_model),
        cmocka_unit_test(a_dead_peer_is_an_error),
        cmocka_unit_test(a_link_goes_and_comes),
        cmocka_unit_test(infiniband_and_roce_do_not_meet),
    };

    if (argc < 3)
        return cmocka_run_group_tests(tests, NULL, NULL);
    peer_socket = (int)strtol(argv[2], NULL, 10);
    return run_peer(argv[1]);
}
