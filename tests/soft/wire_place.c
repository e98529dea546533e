/* Processes and trips of the wire tests; see wire_place.h. */
#include "tests/soft/wire_place.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *place_program;
void (*place_when_back)(unsigned i);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct trip *trips;
static unsigned trip_count;
static struct mgds_wire_peer *lost_peer;
static int lost_rc;

double place_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* mutex held. */
static void wait_change(const struct timespec *end)
{
    int rc = pthread_cond_timedwait(&changed, &mutex, end);

    if (rc != 0)
        fail_msg("nothing came for %d s", WAIT_S);
}

static struct timespec patience(void)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    return end;
}

/* The byte at i of message id, not the same in any two places nearby. */
static unsigned char pattern(uint64_t id, size_t i)
{
    return (unsigned char)(i * 7 + (i >> 8) * 13 + id * 31 + 5);
}

static void fill(unsigned char *at, uint64_t id, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = pattern(id, i);
}

static void check(const unsigned char *at, uint64_t id, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != pattern(id, i))
            fail_msg("message %u differs at byte %zu", (unsigned)id, i);
    }
}

static void *need(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);

    if (!memory)
        abort();
    return memory;
}

static void free_trips(void)
{
    for (unsigned i = 0; i < trip_count; i++) {
        free(trips[i].out);
        free(trips[i].in);
    }
    free(trips);
    trips = NULL;
    trip_count = 0;
}

void place_trips(unsigned count, size_t (*bytes_of)(unsigned i))
{
    free_trips();
    trips = need(count * sizeof(*trips));
    trip_count = count;
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = bytes_of(i);

        trips[i] = (struct trip){
            .bytes = bytes, .out = need(bytes), .in = need(bytes)};
        fill(trips[i].out, i, bytes);
        memset(trips[i].in, 0xee, bytes);
    }
}

struct trip *place_trip(unsigned i)
{
    return &trips[i];
}

static void on_sent(void *arg, int rc)
{
    struct trip *trip = arg;

    pthread_mutex_lock(&mutex);
    trip->sent = true;
    trip->sent_rc = rc;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

int place_go(struct mgds_wire_peer *peer, unsigned i)
{
    const struct place_head head = {.id = i, .bytes = trips[i].bytes};
    const struct mgds_wire_message message = {
        .kind = KIND_ECHO,
        .head = &head,
        .head_bytes = sizeof(head),
        .body = trips[i].out,
        .body_bytes = trips[i].bytes,
        .done = on_sent,
        .arg = &trips[i],
    };

    return mgds_wire_post(peer, &message);
}

static void back_body(void *arg, int rc)
{
    struct trip *trip = arg;

    pthread_mutex_lock(&mutex);
    trip->back = true;
    trip->back_rc = rc;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (place_when_back)
        place_when_back((unsigned)(trip - trips));
}

static int back_head(void *ctx, struct mgds_wire_arrival *arrival)
{
    const struct place_head *it = arrival->head;

    (void)ctx;
    if (arrival->head_bytes != sizeof(*it) || it->id >= trip_count ||
        arrival->body_bytes != trips[it->id].bytes)
        abort();
    arrival->where = trips[it->id].in;
    arrival->arg = &trips[it->id];
    if (arrival->body_bytes == 0)
        back_body(arrival->arg, 0);
    return 0;
}

void place_all_back(void)
{
    const struct timespec end = patience();

    for (unsigned i = 0; i < trip_count; i++) {
        pthread_mutex_lock(&mutex);
        while (!trips[i].back || !trips[i].sent)
            wait_change(&end);
        pthread_mutex_unlock(&mutex);
        assert_int_equal(trips[i].sent_rc, 0);
        assert_int_equal(trips[i].back_rc, 0);
        check(trips[i].in, i, trips[i].bytes);
    }
}

int place_sent(unsigned i)
{
    const struct timespec end = patience();

    pthread_mutex_lock(&mutex);
    while (!trips[i].sent)
        wait_change(&end);
    pthread_mutex_unlock(&mutex);
    return trips[i].sent_rc;
}

static void on_lost(void *ctx, struct mgds_wire_peer *peer, int rc)
{
    (void)ctx;
    pthread_mutex_lock(&mutex);
    lost_peer = peer;
    lost_rc = rc;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

int place_lost(struct mgds_wire_peer *peer)
{
    const struct timespec end = patience();

    pthread_mutex_lock(&mutex);
    while (lost_peer != peer)
        wait_change(&end);
    pthread_mutex_unlock(&mutex);
    return lost_rc;
}

/* A message on its way through an echoing process. */
struct echo {
    struct place_head head;
    struct mgds_wire_peer *peer;
    bool owns; /* a reference to that */
    unsigned char *body;
};

static struct mgds_wire_peer *echo_peer; /* set before the peer can send */

static void echo_done(void *arg, int rc)
{
    struct echo *echo = arg;

    (void)rc;
    if (echo->owns)
        mgds_wire_peer_put(echo->peer);
    free(echo->body);
    free(echo);
}

static void echo_body(void *arg, int rc)
{
    struct echo *echo = arg;
    const struct mgds_wire_message message = {
        .kind = KIND_BACK,
        .head = &echo->head,
        .head_bytes = sizeof(echo->head),
        .body = echo->body,
        .body_bytes = echo->head.bytes,
        .done = echo_done,
        .arg = echo,
    };

    if (rc != 0 || mgds_wire_post(echo->peer, &message) != 0)
        echo_done(arg, rc);
}

/* Messages to oneself go back over the peer that stands for oneself. */
static int echo_head(void *ctx, struct mgds_wire_arrival *it)
{
    struct echo *echo = need(sizeof(*echo));
    const void *address;
    size_t bytes;

    (void)ctx;
    if (it->head_bytes != sizeof(echo->head))
        abort();
    memcpy(&echo->head, it->head, it->head_bytes);
    if (echo->head.bytes != it->body_bytes)
        abort();
    echo->peer = __atomic_load_n(&echo_peer, __ATOMIC_ACQUIRE);
    echo->owns = !echo->peer;
    if (echo->owns && (mgds_wire_address(&address, &bytes) != 0 ||
                       mgds_wire_peer_get(&echo->peer, address, bytes) != 0))
        abort();
    echo->body = need(it->body_bytes);
    it->where = echo->body;
    it->arg = echo;
    if (it->body_bytes == 0)
        echo_body(echo, 0);
    return 0;
}

bool place_far(void)
{
    return getenv("WIRE_FAR") != NULL;
}

/* Both ends: who is far needs an address on the network. */
static int open_wire(uint64_t close_ms)
{
    const struct mgds_config config = {.wire_nap = 30, .wire_close = close_ms};
    int rc = mgds_wire_open(&config);

    return rc == 0 && place_far() ? mgds_wire_open_network() : rc;
}

void place_open(uint64_t close_ms)
{
    const struct mgds_wire_handler echo = {.head = echo_head,
                                           .body = echo_body};
    const struct mgds_wire_handler back = {.head = back_head,
                                           .body = back_body};

    pthread_mutex_lock(&mutex);
    lost_peer = NULL;
    pthread_mutex_unlock(&mutex);
    CLAIM(mgds_wire_handle(KIND_ECHO, &echo) == 0);
    CLAIM(mgds_wire_handle(KIND_BACK, &back) == 0);
    mgds_wire_on_lost(on_lost, NULL);
    CLAIM(open_wire(close_ms) == 0);
}

void place_close(void)
{
    mgds_wire_close();
    free_trips();
    place_when_back = NULL;
}

static bool transfer(ssize_t (*step)(int, void *, size_t), int fd, void *at,
                     size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = step(fd, (char *)at + done, bytes - done);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static ssize_t write_some(int fd, void *at, size_t bytes)
{
    return write(fd, at, bytes);
}

static bool tell_address(int fd)
{
    const void *address;
    size_t bytes;

    return mgds_wire_address(&address, &bytes) == 0 &&
           transfer(write_some, fd, &bytes, sizeof(bytes)) &&
           transfer(write_some, fd, (void *)(uintptr_t)address, bytes);
}

static struct mgds_wire_peer *hear_address(int fd)
{
    struct mgds_wire_peer *peer = NULL;
    size_t bytes = 0;
    void *address;

    if (!transfer(read, fd, &bytes, sizeof(bytes)))
        return NULL;
    address = need(bytes);
    if (transfer(read, fd, address, bytes))
        mgds_wire_peer_get(&peer, address, bytes);
    free(address);
    return peer;
}

/* Not standard output: UCX writes its warnings there. */
enum { CHILD_IN = 100, CHILD_OUT = 101 };

static void become_child(int in, int out)
{
    if (dup2(in, CHILD_IN) < 0 || dup2(out, CHILD_OUT) < 0)
        _exit(3);
    if (place_far())
        setenv("MPIX_SIM_HOST", "there", 1);
    execl(place_program, place_program, "echo", (char *)NULL);
    _exit(4);
}

/* It answers when it knows whom to answer from now on. */
static void meet(struct place_child *child)
{
    CLAIM(tell_address(child->to));
    child->peer = hear_address(child->from);
    CLAIM(child->peer);
}

void place_child_start(struct place_child *child)
{
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};

    CLAIM(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    child->pid = fork();
    CLAIM(child->pid >= 0);
    if (child->pid == 0)
        become_child(to[0], from[1]);
    close(to[0]);
    close(from[1]);
    child->to = to[1];
    child->from = from[0];
    meet(child);
}

void place_child_again(struct place_child *child)
{
    mgds_wire_peer_put(child->peer);
    meet(child);
}

void place_child_end(struct place_child *child)
{
    int status;

    close(child->to);
    close(child->from);
    CLAIM(waitpid(child->pid, &status, 0) == child->pid);
    assert_int_equal(status, 0);
    mgds_wire_peer_put(child->peer);
}

void place_child_reap(struct place_child *child)
{
    int status;

    CLAIM(waitpid(child->pid, &status, 0) == child->pid);
    assert_true(WIFSIGNALED(status));
    close(child->to);
    close(child->from);
}

int place_echo(void)
{
    const struct mgds_wire_handler echo = {.head = echo_head,
                                           .body = echo_body};
    struct mgds_wire_peer *peer;
    bool met = false;

    if (mgds_wire_handle(KIND_ECHO, &echo) != 0 || open_wire(2000) != 0)
        return 1;
    while ((peer = hear_address(CHILD_IN)) != NULL) {
        __atomic_store_n(&echo_peer, peer, __ATOMIC_RELEASE);
        if (!tell_address(CHILD_OUT))
            return 1;
        met = true;
    }
    mgds_wire_close();
    return met ? 0 : 1;
}
