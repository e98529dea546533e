/* Tests of rings between processes: two inboxes of one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/gds/wire/inbox.h"

enum { MINE = 11, THEIRS = 22, KIND = 7, LAPS = 4000 };

/* Mine, which is written to, theirs, and a ring of theirs in mine. */
struct place {
    struct mgds_inbox *mine, *theirs;
    struct mgds_outbox *out;
};

static void open_place(struct place *place)
{
    assert_int_equal(mgds_inbox_create(&place->mine, MINE, 1), 0);
    assert_int_equal(mgds_inbox_create(&place->theirs, THEIRS, 1), 0);
    assert_int_equal(mgds_outbox_open(&place->out,
                                      mgds_inbox_place(place->mine), MINE,
                                      place->theirs),
                     0);
}

static void close_place(struct place *place)
{
    mgds_outbox_close(place->out);
    mgds_inbox_destroy(place->theirs);
    mgds_inbox_destroy(place->mine);
}

static unsigned char pattern(unsigned id, size_t i)
{
    return (unsigned char)((size_t)id * 31 + i * 7);
}

static void put(struct place *place, unsigned id, uint32_t bytes)
{
    const struct mgds_inbox_record record = {KIND, bytes, id};
    unsigned char *data = malloc(bytes + 1);

    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = pattern(id, i);
    assert_true(mgds_outbox_room(place->out) >= (int)bytes);
    mgds_outbox_put(place->out, &record, data);
    free(data);
}

static void take(struct place *place, unsigned ring, unsigned id,
                 uint32_t bytes)
{
    struct mgds_inbox_record record;
    unsigned char *data = malloc(bytes + 1);

    assert_non_null(data);
    assert_int_equal(mgds_inbox_next(place->mine, ring, &record), 1);
    assert_int_equal(record.kind, KIND);
    assert_int_equal(record.bytes, bytes);
    assert_int_equal(record.body_bytes, id);
    mgds_inbox_read(place->mine, ring, data, bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(data[i], pattern(id, i));
    mgds_inbox_pop(place->mine, ring, &record);
    free(data);
}

static unsigned due_ring(struct place *place)
{
    int ring = mgds_inbox_due(place->mine);

    assert_true(ring >= 0);
    return (unsigned)ring;
}

static uint32_t bytes_of(unsigned id)
{
    return id * 7919u % 60000;
}

static void records_go_round_the_ring(void **state)
{
    struct mgds_inbox_record record;
    struct place place;
    unsigned ring;

    (void)state;
    open_place(&place);
    assert_int_equal(mgds_inbox_due(place.mine), -1);
    for (unsigned id = 0; id < LAPS; id++) {
        put(&place, id, bytes_of(id));
        put(&place, id + 1, 3);
        ring = due_ring(&place);
        assert_int_equal(mgds_inbox_due(place.mine), -1);
        take(&place, ring, id, bytes_of(id));
        take(&place, ring, id + 1, 3);
        assert_int_equal(mgds_inbox_next(place.mine, ring, &record), 0);
    }
    assert_int_equal(mgds_inbox_writer(place.mine, ring), THEIRS);
    close_place(&place);
}

static void a_full_ring_has_no_room(void **state)
{
    struct place place;
    unsigned count = 0;
    unsigned ring;

    (void)state;
    open_place(&place);
    assert_int_equal(mgds_outbox_room(place.out), MGDS_INBOX_MOST);
    while (mgds_outbox_room(place.out) >= 1000)
        put(&place, count++, 1000);
    assert_true(count > 100);
    ring = due_ring(&place);
    for (unsigned id = 0; id < count; id++)
        take(&place, ring, id, 1000);
    assert_int_equal(mgds_outbox_room(place.out), MGDS_INBOX_MOST);
    close_place(&place);
}

static bool rings(struct place *place)
{
    struct pollfd on = {.fd = mgds_inbox_bell(place->mine), .events = POLLIN};

    return poll(&on, 1, 0) == 1;
}

static void who_sleeps_is_woken_once(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    put(&place, 1, 8);
    assert_false(rings(&place));
    assert_false(mgds_inbox_doze(place.mine)); /* something has come */
    take(&place, due_ring(&place), 1, 8);
    assert_true(mgds_inbox_doze(place.mine));
    put(&place, 2, 8);
    assert_true(rings(&place));
    put(&place, 3, 8);
    mgds_inbox_wake(place.mine);
    assert_false(rings(&place));
    close_place(&place);
}

static void a_ring_given_back_is_taken_again(void **state)
{
    struct place place;
    unsigned ring;

    (void)state;
    open_place(&place);
    put(&place, 1, 8);
    ring = due_ring(&place);
    assert_false(mgds_inbox_over(place.mine, ring, true));
    mgds_outbox_close(place.out);
    assert_true(mgds_inbox_over(place.mine, ring, false));
    take(&place, ring, 1, 8); /* what was written stays */
    mgds_inbox_free(place.mine, ring);
    assert_int_equal(mgds_inbox_writer(place.mine, ring), 0);
    assert_int_equal(mgds_outbox_open(&place.out, mgds_inbox_place(place.mine),
                                      MINE, place.theirs),
                     0);
    put(&place, 2, 100);
    assert_int_equal(due_ring(&place), ring);
    take(&place, ring, 2, 100);
    close_place(&place);
}

static void an_inbox_that_is_closed_is_seen(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    assert_true(mgds_outbox_lives(place.out));
    mgds_inbox_destroy(place.mine);
    place.mine = NULL;
    assert_false(mgds_outbox_lives(place.out));
    close_place(&place);
}

static void only_the_process_that_is_meant_is_opened(void **state)
{
    struct mgds_inbox_place where;
    struct mgds_outbox *out;
    struct place place;

    (void)state;
    open_place(&place);
    where = *mgds_inbox_place(place.mine);
    assert_int_equal(mgds_inbox_reach(&where, MINE), 0);
    assert_int_equal(mgds_inbox_reach(&where, THEIRS), -ESRCH);
    where.memory_inode++;
    assert_int_equal(mgds_inbox_reach(&where, MINE), -ESRCH);
    where = *mgds_inbox_place(place.mine);
    where.pid = INT32_MAX;
    assert_int_equal(mgds_outbox_open(&out, &where, MINE, place.theirs),
                     -ESRCH);
    where = *mgds_inbox_place(place.mine);
    where.version++;
    assert_int_equal(mgds_inbox_reach(&where, MINE), -EPROTO);
    close_place(&place);
}

/* D3: the modes that keep other users out, and that nothing has a name. */
static void d3_nobody_else_can_open_it(void **state)
{
    char path[64];
    struct stat status;
    struct place place;
    pid_t pid;
    int ended;

    (void)state;
    open_place(&place);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(),
             mgds_inbox_place(place.mine)->memory);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, S_IRUSR | S_IWUSR);
    assert_int_equal(status.st_nlink, 0);
    if (geteuid() != 0) {
        close_place(&place);
        print_message("another user was not tried: that needs root\n");
        return;
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct mgds_outbox *out;

        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        _exit(mgds_outbox_open(&out, mgds_inbox_place(place.mine), MINE,
                               place.theirs) == -EACCES
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(ended, 0);
    close_place(&place);
}

/* A process that is dead, but not waited for, is none; a stopped one is one. */
static void a_writer_is_over_when_it_is_dead(void **state)
{
    struct place place;
    int ready[2];
    unsigned ring;
    siginfo_t what;
    pid_t pid;
    char c;

    (void)state;
    assert_int_equal(mgds_inbox_create(&place.mine, MINE, 1), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (mgds_inbox_create(&place.theirs, THEIRS, 1) != 0 ||
            mgds_outbox_open(&place.out, mgds_inbox_place(place.mine), MINE,
                             place.theirs) != 0)
            _exit(1);
        put(&place, 5, 500);
        while (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    ring = due_ring(&place);
    kill(pid, SIGSTOP);
    assert_int_equal(waitid(P_PID, (id_t)pid, &what, WSTOPPED | WNOWAIT), 0);
    assert_false(mgds_inbox_over(place.mine, ring, true));
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &what, WEXITED | WNOWAIT), 0);
    assert_true(mgds_inbox_over(place.mine, ring, true)); /* a zombie */
    take(&place, ring, 5, 500);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    mgds_inbox_destroy(place.mine);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_go_round_the_ring),
        cmocka_unit_test(a_full_ring_has_no_room),
        cmocka_unit_test(who_sleeps_is_woken_once),
        cmocka_unit_test(a_ring_given_back_is_taken_again),
        cmocka_unit_test(an_inbox_that_is_closed_is_seen),
        cmocka_unit_test(only_the_process_that_is_meant_is_opened),
        cmocka_unit_test(d3_nobody_else_can_open_it),
        cmocka_unit_test(a_writer_is_over_when_it_is_dead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
