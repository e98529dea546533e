/* What a completion call does to the table of staged requests when the MPI
 * below gives a handle to another thread before it returns (T1), and when error
 * handlers change requests meanwhile. The MPI below and generalized requests
 * are played. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/wave.h"

enum { ONE = 0x2c000101, TWO, THREE, GREQ };

/* Played. */

mgds_next_fn *mgds_definitions[MGDS_CALLS][MGDS_FACES];

mgds_next_fn *mgds_next_find(enum mgds_call call, enum mgds_face face)
{
    (void)call;
    (void)face;
    fail_msg("nothing is asked of the MPI below");
    return NULL;
}

void mgds_below_progress(void)
{
}

bool mgds_below_has_data(int error)
{
    return error == MPI_SUCCESS;
}

int mgds_mpi_class(int rc)
{
    return rc < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int mgds_mpi_error(MPI_Comm comm, int rc)
{
    (void)comm;
    return mgds_mpi_class(rc);
}

static void (*handler)(void); /* called from a step, once */

bool mgds_grequest_poll(struct mgds_request *request)
{
    (void)request;
    fail_msg("there is no orphan");
    return true;
}

void mgds_grequest_pass_begin(struct mgds_grequest_pass *pass)
{
    pass->tested = true;
}

void mgds_grequest_pass_step(struct mgds_grequest_pass *pass,
                             struct mgds_request *greq)
{
    void (*now)(void) = handler;

    (void)pass;
    (void)greq;
    handler = NULL;
    if (now)
        now();
}

bool mgds_grequest_pass_end(struct mgds_grequest_pass *pass)
{
    (void)pass;
    return true;
}

struct mgds_request *mgds_grequest_watched(void)
{
    return NULL;
}

int mgds_grequest_error(struct mgds_request *greq)
{
    (void)greq;
    return MPI_SUCCESS;
}

/* Entries, and what became of them. Fates are static, since a test's teardown
 * takes what is left of the entries out of the table. */

struct fate {
    struct mgds_request *request;
    uint64_t serial;
    int released, landed;
};

struct entry {
    struct mgds_request request; /* first */
    struct fate *fate;
};

static struct fate *fate_of(struct mgds_request *request)
{
    return ((struct entry *)request)->fate;
}

static void release(struct mgds_request *request)
{
    fate_of(request)->released++;
}

static int landed(struct mgds_request *request, MPI_Status *status)
{
    (void)status;
    fate_of(request)->landed++;
    return 0;
}

static int poll(struct mgds_request *request)
{
    (void)request;
    return 1;
}

static const struct mgds_request_ops send_ops = {.kind = MGDS_REQUEST_IS_SEND,
                                                 .release = release};
static const struct mgds_request_ops persistent_ops = {
    .kind = MGDS_REQUEST_IS_PERSISTENT,
    .landed = landed,
    .poll = poll,
    .release = release};
static const struct mgds_request_ops greq_ops = {
    .kind = MGDS_REQUEST_IS_GENERALIZED, .release = release};

/* One that is active. */
static void add(struct fate *fate, const struct mgds_request_ops *ops,
                MPI_Request handle)
{
    struct entry *entry = mgds_request_new(sizeof(*entry), ops, MPI_COMM_WORLD);

    assert_non_null(entry);
    entry->fate = fate;
    entry->request.handle = handle;
    mgds_request_step(&entry->request, MGDS_REQUEST_ON_BEGIN);
    mgds_request_add(&entry->request);
    *fate = (struct fate){.request = &entry->request,
                          .serial = entry->request.serial};
}

static bool is_there(const struct fate *fate)
{
    return mgds_requests_still(fate->request->handle, fate->serial);
}

static int tear_down(void **state)
{
    struct mgds_request *request;

    (void)state;
    while ((request = mgds_requests_take_any()))
        mgds_request_put(request);
    return mgds_requests_any();
}

/* Begins a call on so many requests. */
static void begin(struct mgds_wave *wave, MPI_Request *requests, int count,
                  int ours)
{
    assert_int_equal(mgds_wave_init(wave, requests, count, MPI_STATUSES_IGNORE),
                     ours);
}

static void a_completed_send_is_over(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate entry;

    (void)state;
    add(&entry, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL;
    assert_int_equal(mgds_wave_settle_one(&wave, 0, MPI_SUCCESS), MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(entry.released, 1);
    assert_int_equal(mgds_requests_look(ONE).kind, 0);
}

static void a_send_that_is_not_complete_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate entry;

    (void)state;
    add(&entry, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    mgds_wave_settle_one(&wave, -1, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(entry.released, 0);
    assert_true(is_there(&entry));
}

/* By a call that tells one: Wait, Test, Waitany, Testany. */
static void anothers_send_with_the_handle_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate mine, other;

    (void)state;
    add(&mine, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL; /* below; and another thread's MPI_Isend: */
    add(&other, &send_ops, ONE);
    assert_int_equal(mine.released, 1);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(mine.released, 1);
    assert_int_equal(other.released, 0);
    assert_true(is_there(&other));
}

/* By one that tells many, of which the last is not complete. */
static void each_of_many_is_its_own(void **state)
{
    MPI_Request requests[] = {ONE, TWO, THREE};
    const int indices[] = {1, 0};
    struct mgds_wave wave;
    static struct fate mine[3], other;

    (void)state;
    for (int i = 0; i < 3; i++)
        add(&mine[i], &send_ops, requests[i]);
    begin(&wave, requests, 3, 3);
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    add(&other, &send_ops, TWO);
    mgds_wave_settle_many(&wave, 2, indices, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mine[i].released, i < 2);
    assert_int_equal(other.released, 0);
    assert_true(is_there(&other) && is_there(&mine[2]));
    assert_int_equal(mgds_requests_look(ONE).kind, 0);
}

/* The handle comes back as one of another kind. */
static void anothers_persistent_request_stays(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;
    static struct fate mine, other;

    (void)state;
    add(&mine, &send_ops, ONE);
    begin(&wave, &request, 1, 1);
    request = MPI_REQUEST_NULL;
    add(&other, &persistent_ops, ONE);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_true(is_there(&other));
    assert_int_equal(other.landed, 0);
    assert_int_equal(other.request->state, MGDS_REQUEST_ACTIVE);
}

/* MPI's error handler frees it at the end of the call below. */
static void a_persistent_request_that_a_handler_frees_is_left(void **state)
{
    MPI_Request requests[] = {ONE, TWO};
    struct mgds_wave wave;
    static struct fate mine, other;

    (void)state;
    add(&mine, &persistent_ops, ONE);
    add(&other, &persistent_ops, TWO);
    begin(&wave, requests, 2, 2);
    mgds_requests_remove(mine.request);
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(mine.landed, 0);
    assert_int_equal(mine.request->state, MGDS_REQUEST_ACTIVE);
    mgds_request_put(mine.request);
    assert_int_equal(other.landed, 1);
    assert_int_equal(other.request->state, MGDS_REQUEST_INACTIVE);
}

/* A handler waits for the send, and sends anew from its place. */

static struct fate replaced, replacing;

static void replace(void)
{
    struct mgds_request_seen seen = mgds_requests_look(ONE);

    assert_non_null(mgds_requests_take_send(ONE, seen.serial));
    add(&replacing, &send_ops, ONE);
}

static void a_send_that_a_handler_puts_in_its_place_is_over(void **state)
{
    static struct fate greq;
    MPI_Request requests[] = {ONE, GREQ};
    struct mgds_wave wave;

    (void)state;
    add(&replaced, &send_ops, ONE);
    add(&greq, &greq_ops, GREQ);
    handler = replace;
    begin(&wave, requests, 2, 2);
    mgds_wave_drive_all(&wave);
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(replaced.released, 0); /* it is the handler's */
    assert_int_equal(replacing.released, 1);
    assert_int_equal(greq.request->refs, 1);
    mgds_request_put(replaced.request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_completed_send_is_over, tear_down),
        cmocka_unit_test_teardown(a_send_that_is_not_complete_stays, tear_down),
        cmocka_unit_test_teardown(anothers_send_with_the_handle_stays,
                                  tear_down),
        cmocka_unit_test_teardown(each_of_many_is_its_own, tear_down),
        cmocka_unit_test_teardown(anothers_persistent_request_stays, tear_down),
        cmocka_unit_test_teardown(
            a_persistent_request_that_a_handler_frees_is_left, tear_down),
        cmocka_unit_test_teardown(
            a_send_that_a_handler_puts_in_its_place_is_over, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
