/* Devices in processes of their own: many at once, those that die, those that
 * sleep. What is waited for are packets and ends of processes; a wakening that
 * is lost hangs, until an alarm. */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hca/place.h"
#include "tests/lib/sanitized.h"

enum {
    MANY = 100,
    WRITES = 2000,
    LIMIT = 100, /* s */
    STOPPED_RETRIES = 2,
    STOPPED_TIMEOUT = 10 /* 4 ms */
};

static char folder[64];

static int name_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/dev/shm/mpix-gds-peers.%d", getpid());
    return 0;
}

/* Files of the folder, or 0 if there is none. */
static unsigned count_files(void)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;

    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

static pid_t fork_child(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static void expect_end(pid_t child, bool killed)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    if (killed)
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A pipe that a process reads from until another one has said something. */
struct pipes {
    int in[2];
    int out[2];
};

static void hold_lid(const struct pipes *pipes)
{
    struct mgds_hca_port_attr attr = {.folder = folder};
    struct mgds_hca_port *port;
    uint8_t lid = 0;

    if (mgds_hca_port_create(&port, &attr) == 0)
        lid = (uint8_t)mgds_hca_port_lid(port);
    close(pipes->out[1]);
    if (write(pipes->in[1], &lid, 1) != 1 || read(pipes->out[0], &lid, 1) != 0)
        _exit(1);
    mgds_hca_port_destroy(port);
    _exit(0);
}

static void a_hundred_open_at_once(void **state)
{
    bool seen[MANY + 1] = {false};
    struct pipes pipes;
    pid_t child[MANY];
    uint8_t lid;

    (void)state;
    assert_int_equal(pipe(pipes.in) | pipe(pipes.out), 0);
    for (int i = 0; i < MANY; i++) {
        child[i] = fork_child();
        if (child[i] == 0)
            hold_lid(&pipes);
    }
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(read(pipes.in[0], &lid, 1), 1);
        assert_true(lid >= 1 && lid <= MANY && !seen[lid]);
        seen[lid] = true;
    }
    for (int i = 0; i < MANY; i += 2)
        assert_int_equal(kill(child[i], SIGKILL), 0);
    for (int i = 0; i < MANY; i += 2)
        expect_end(child[i], true);
    close(pipes.out[1]);
    for (int i = 1; i < MANY; i += 2)
        expect_end(child[i], false);
    /* The last one to leave has removed what the dead left. */
    assert_int_equal(count_files(), 0);
    close(pipes.in[0]);
    close(pipes.in[1]);
    close(pipes.out[0]);
}

/* Two places in two processes, and what they tell each other. */
struct pair {
    struct mgds_hca_address address[2];
    uint32_t key[2];
    uint32_t told;   /* by the child, then by the parent */
    uint8_t timeout; /* 0: 0.3 s */
    uint8_t retries; /* 0: 7 */
    enum mgds_hca_service service;
    uint32_t dct; /* of the child; DCI */
};

static void tell(struct pair *pair, uint32_t told)
{
    __atomic_store_n(&pair->told, told, __ATOMIC_RELEASE);
}

static void await(const struct pair *pair, uint32_t told)
{
    while (__atomic_load_n(&pair->told, __ATOMIC_ACQUIRE) < told)
        sched_yield();
}

static const struct options alone = {
    .packets = true, .unconnected = true, .folder = folder, .apart = true};

/* This process's end a, to the end a of the other process. */
static void join(struct place *place, struct pair *pair, unsigned side,
                 uint8_t host)
{
    struct options options = alone;
    struct mgds_hca_change change;

    options.host = host;
    options.timeout = pair->timeout ? pair->timeout : 16;
    options.retries = pair->retries;
    options.service = pair->service;
    place_open(place, &options);
    if (side && place->a.dct)
        pair->dct = place->a.dct->number;
    pair->address[side] = place_of(&place->a);
    pair->key[side] = place->a.key;
    if (side)
        tell(pair, 1);
    else
        await(pair, 1);
    change = place_change(&place->a, PLACE_QPN_A);
    change.address = pair->address[!side];
    if (side)
        await(pair, 2);
    else
        tell(pair, 2);
    change.address = pair->address[!side];
    place_connect_as(place->a.qp, change);
    if (side)
        tell(pair, 3);
    else
        await(pair, 3);
}

static void serve_for_ever(struct pair *pair, uint8_t host)
{
    static struct place place;

    join(&place, pair, 1, host);
    for (;;) {
        if (mgds_hca_run(place.a.hca) == 0)
            mgds_hca_port_rest(place.a.port, MGDS_HCA_REST);
    }
}

/* An address vector names an end of this process: but for the LID. */
static struct wqe ctrl_to_dct(const struct place *place,
                              const struct pair *pair)
{
    enum { CTRL = 16, RLID = CTRL + 14 };
    struct wqe wqe = wqe_dc_ctrl(&place->a, 0x08, &place->b, pair->dct);

    wqe.at[RLID] = (uint8_t)(pair->address[1].lid >> 8);
    wqe.at[RLID + 1] = (uint8_t)pair->address[1].lid;
    return wqe;
}

static struct wqe write_of(const struct place *place, const struct pair *pair)
{
    struct wqe wqe = pair->service == MGDS_SERVICE_DCI
                         ? ctrl_to_dct(place, pair)
                         : wqe_ctrl(&place->a, 0x08, SIGNALLED);

    wqe_raddr(&wqe, place_address(&place->a, 0), pair->key[1]);
    wqe_data(&wqe, 8, place->a.key, place_address(&place->a, 0));
    return wqe;
}

static void write_there(struct place *place, const struct pair *pair)
{
    struct wqe wqe = write_of(place, pair);

    run_one(&place->a, &wqe);
}

static void who_is_killed_is_not_waited_for(void **state)
{
    static struct place place;
    struct pair *pair = mmap(NULL, sizeof(*pair), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct mgds_hca_port_attr attr = {.folder = folder};
    struct mgds_hca_port *port;
    pid_t child;

    (void)state;
    assert_true(pair != MAP_FAILED);
    child = fork_child();
    if (child == 0)
        serve_for_ever(pair, 0);
    join(&place, pair, 0, 0);
    write_there(&place, pair);
    expect_cqe(&place.a.sends, 0, 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    expect_end(child, true);
    write_there(&place, pair);
    expect_error(&place.a.sends, 0x15, 1);
    assert_int_equal(place.a.qp->state, MGDS_STATE_ERR);
    /* Its LID is free, and found to be another device's. */
    attr.lid = pair->address[1].lid;
    assert_int_equal(mgds_hca_port_create(&port, &attr), 0);
    assert_int_equal(
        mgds_hca_fabric_find(place.a.port->fabric, &pair->address[1]),
        attr.lid);
    mgds_hca_port_destroy(port);
    place_close(&place);
    assert_int_equal(count_files(), 0);
    munmap(pair, sizeof(*pair));
}

static void stop_child(pid_t child)
{
    int status;

    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
}

/* All retries have their time, many times over. */
static void let_time_pass(const struct place *place)
{
    uint64_t end = mgds_hca_now(place->a.hca) +
                   UINT64_C(8) * STOPPED_RETRIES * (4096 << STOPPED_TIMEOUT);

    while (mgds_hca_now(place->a.hca) < end) {
        if (mgds_hca_run(place->a.hca) == 0)
            mgds_hca_port_rest(place->a.port, MGDS_HCA_REST);
    }
}

/* The child is stopped, as if the machine gave it no time, at a DCI's call or
 * its first WRITE; and at the next one. */
static void write_to_stopped(struct pair *pair, uint8_t host,
                             enum mgds_hca_service service)
{
    static struct place place;
    uint16_t last = 0;
    struct wqe wqe;
    pid_t child;

    pair->told = 0;
    pair->timeout = STOPPED_TIMEOUT;
    pair->retries = STOPPED_RETRIES;
    pair->service = service;
    child = fork_child();
    if (child == 0)
        serve_for_ever(pair, host);
    join(&place, pair, 0, 0);
    for (uint16_t i = 0; i < 2; i++) {
        stop_child(child);
        wqe = write_of(&place, pair);
        last = place.a.pi;
        post(&place.a, &wqe);
        ring(&place.a);
        let_time_pass(&place);
        expect_none(&place.a.sends);
        assert_int_equal(place.a.qp->state, MGDS_STATE_RTS);
        assert_int_equal(kill(child, i == 0 ? SIGCONT : SIGKILL), 0);
        place_run(&place);
        if (i == 0)
            expect_cqe(&place.a.sends, 0, 0);
    }
    expect_error(&place.a.sends, 0x15, last);
    expect_end(child, true);
    place_close(&place);
}

static void who_gets_no_time_is_waited_for(void **state)
{
    struct pair *pair = mmap(NULL, sizeof(*pair), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(pair != MAP_FAILED);
    for (uint8_t host = 0; host <= 1; host++) {
        write_to_stopped(pair, host, MGDS_SERVICE_RC);
        write_to_stopped(pair, host, MGDS_SERVICE_DCI);
    }
    munmap(pair, sizeof(*pair));
}

static bool is_namespace_free;

/* A child with a network of its own, where nothing is but its loopback; and on
 * a host of its own. */
static void network_namespaces_reach_each_other(void **state)
{
    static struct place place;
    struct pair *pair = mmap(NULL, sizeof(*pair), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    (void)state;
    assert_true(pair != MAP_FAILED);
    if (!is_namespace_free)
        skip();
    child = fork_child();
    if (child == 0) {
        if (unshare(CLONE_NEWNET) < 0)
            _exit(1);
        serve_for_ever(pair, 1);
    }
    join(&place, pair, 0, 0);
    for (uint16_t i = 0; i < 10; i++) {
        write_there(&place, pair);
        expect_cqe(&place.a.sends, 0, i);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    expect_end(child, true);
    place_close(&place);
    munmap(pair, sizeof(*pair));
}

/* Whether this user may make a network namespace. */
static bool may_unshare(void)
{
    pid_t child = fork_child();
    int status;

    if (child == 0)
        _exit(unshare(CLONE_NEWNET) < 0);
    return waitpid(child, &status, 0) == child && status == 0;
}

/* b sleeps without a time: only a packet wakes it. */
static void sleep_for_packets(const struct place *place, const bool *over)
{
    struct mgds_hca_port *port = place->b.port;
    struct pollfd mail = {.fd = mgds_hca_port_socket(port), .events = POLLIN};

    while (!__atomic_load_n(over, __ATOMIC_ACQUIRE)) {
        if (mgds_hca_run(place->b.hca) > 0 || !mgds_hca_port_lie_down(port))
            continue;
        poll(&mail, 1, -1);
        mgds_hca_port_get_up(port);
    }
}

static struct place slept;
static bool over;

static void *sleeper(void *unused)
{
    sleep_for_packets(&slept, &over);
    return unused;
}

static void write_to_sleeper(bool hosts)
{
    struct options options = {
        .packets = true, .apart = true, .timeout = 19, .hosts = hosts};
    pthread_t thread;
    struct wqe wqe;

    over = false;
    place_open(&slept, &options);
    assert_int_equal(pthread_create(&thread, NULL, sleeper, NULL), 0);
    for (unsigned i = 0; i < mgds_test_laps(WRITES); i++) {
        wqe = wqe_write(&slept.a, i % 1000 * (size_t)8, 8);
        run_one(&slept.a, &wqe);
        expect_cqe(&slept.a.sends, 0, (uint16_t)i);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    mgds_hca_mail_wake(&slept.a.port->fabric->mail,
                       mgds_hca_port_lid(slept.b.port));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_equal(slept.b.memory, slept.a.memory, 8);
    place_close(&slept);
}

static void no_packet_is_slept_over(void **state)
{
    (void)state;
    write_to_sleeper(false);
    write_to_sleeper(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_open_at_once),
        cmocka_unit_test(who_is_killed_is_not_waited_for),
        cmocka_unit_test(who_gets_no_time_is_waited_for),
        cmocka_unit_test(network_namespaces_reach_each_other),
        cmocka_unit_test(no_packet_is_slept_over),
    };

    alarm(LIMIT);
    is_namespace_free = may_unshare();
    return cmocka_run_group_tests(tests, name_folder, NULL);
}
