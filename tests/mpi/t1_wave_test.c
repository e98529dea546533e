/* What a completion call does to the table of staged requests when the MPI
 * below gives a handle to another thread before it returns (T1), and when error
 * handlers change requests meanwhile. The MPI below and generalized requests
 * are played. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/pmpi/below.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/next.h"
#include "shim/pmpi/request_table.h"
#include "shim/pmpi/stream_persist.h"
#include "shim/pmpi/stream_req.h"
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

bool mgds_direct_is_armed;

void mgds_direct_serve(bool inside)
{
    (void)inside;
}

void mgds_direct_open_step(int more_than)
{
    (void)more_than;
}

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

/* Of a persistent request of a stream communicator, which stands for GREQ. */
static int busy_looks; /* so many times a stream has some of it */
static int shortage;   /* so many times there is no memory for GREQ */

bool mgds_stream_persist_is_under_way(const struct mgds_stream_persist *persist)
{
    (void)persist;
    return busy_looks > 0 && busy_looks-- > 0;
}

static int flushes; /* of groups */

void mgds_groups_flush(void)
{
    flushes++;
}

int mgds_stream_req_show(struct mgds_stream_req *req, MPI_Request *handle)
{
    (void)req;
    if (shortage > 0 && shortage-- > 0)
        return -ENOMEM;
    *handle = GREQ;
    return 0;
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

static void nothing(struct mgds_request *request)
{
    (void)request;
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

/* A template, ONE, with what it has started, GREQ, or nothing. */

static struct mgds_stream_persist *template;
static const struct mgds_request_ops template_ops = {
    .kind = MGDS_REQUEST_IS_TEMPLATE, .release = nothing};

static void add_template(struct fate *greq)
{
    template =
        mgds_request_new(sizeof(*template), &template_ops, MPI_COMM_WORLD);
    assert_non_null(template);
    template->request.handle = ONE;
    mgds_request_step(&template->request, MGDS_REQUEST_ON_INIT);
    mgds_request_add(&template->request);
    if (!greq)
        return;
    add(greq, &greq_ops, GREQ);
    template->current = (struct mgds_stream_req *)greq->request;
}

/* The caller's array keeps the persistent handle, and loses others. */
static void a_template_has_a_stand_in(void **state)
{
    static struct fate greq, sent;
    MPI_Request requests[] = {TWO, ONE};
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    add(&sent, &send_ops, TWO);
    begin(&wave, requests, 2, 2);
    assert_int_equal(wave.requests[0], TWO);
    assert_int_equal(wave.requests[1], GREQ);
    wave.requests[0] = wave.requests[1] = MPI_REQUEST_NULL;
    mgds_wave_settle_many(&wave, 2, NULL, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(requests[0], MPI_REQUEST_NULL);
    assert_int_equal(requests[1], ONE);
    assert_int_equal(sent.released, 1);
    assert_int_equal(greq.request->refs, 1);
    assert_int_equal(template->request.refs, 1);
}

/* What no stream communicator has is none of a group's affairs. */
static void only_streams_requests_flush(void **state)
{
    static struct fate greq, sent;
    MPI_Request send = TWO, generalized = GREQ;
    struct mgds_wave wave;

    (void)state;
    add(&sent, &send_ops, TWO);
    add(&greq, &greq_ops, GREQ);
    flushes = 0;
    begin(&wave, &send, 1, 1);
    mgds_wave_fini(&wave);
    assert_int_equal(flushes, 0);
    begin(&wave, &generalized, 1, 1);
    mgds_wave_fini(&wave);
    assert_int_equal(flushes, 1);
}

static void an_inactive_template_is_nothing(void **state)
{
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(NULL);
    begin(&wave, &request, 1, 1);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_int_equal(wave.held, 0);
    assert_true(mgds_wave_drive(&wave));
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave);
    assert_int_equal(request, ONE);
}

/* A stream has some of it: nothing stands for it until the stream has passed.
 */
static void a_held_template_is_waited_for(void **state)
{
    static struct fate greq;
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    busy_looks = 3;
    flushes = 0;
    begin(&wave, &request, 1, 1);
    assert_int_equal(flushes, 1);
    assert_int_equal(wave.held, 1);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_false(mgds_wave_drive(&wave));
    mgds_wave_drive_all(&wave);
    assert_int_equal(busy_looks, 0);
    assert_int_equal(wave.held, 0);
    assert_int_equal(wave.requests[0], GREQ);
    mgds_wave_fini(&wave);
    assert_int_equal(greq.request->refs, 1);
}

/* Without memory for it a call fails before it has done anything; one that
 * waits goes on waiting. */
static void memory_for_a_stand_in_may_be_short(void **state)
{
    static struct fate greq;
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    shortage = 1;
    begin(&wave, &request, 1, -ENOMEM);
    assert_int_equal(template->request.refs, 1);
    busy_looks = 1;
    shortage = 2;
    begin(&wave, &request, 1, 1);
    assert_int_equal(wave.held, 1);
    mgds_wave_drive_all(&wave);
    assert_int_equal(shortage, 0);
    assert_int_equal(wave.requests[0], GREQ);
    mgds_wave_fini(&wave);
}

/* By a handler, while the call goes on. */
static void let_template_go(void)
{
    mgds_requests_remove(&template->request);
    template->current = NULL;
    mgds_request_put(&template->request);
}

static void a_template_that_a_handler_frees_is_nothing(void **state)
{
    static struct fate greq;
    MPI_Request request = ONE;
    struct mgds_wave wave;

    (void)state;
    add_template(&greq);
    handler = let_template_go;
    begin(&wave, &request, 1, 1);
    mgds_wave_drive_all(&wave);
    assert_int_equal(wave.requests[0], MPI_REQUEST_NULL);
    assert_int_equal(greq.request->refs, 1);
    mgds_wave_settle_one(&wave, 0, MPI_SUCCESS);
    mgds_wave_fini(&wave); /* has the last reference */
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
        cmocka_unit_test_teardown(a_template_has_a_stand_in, tear_down),
        cmocka_unit_test_teardown(only_streams_requests_flush, tear_down),
        cmocka_unit_test_teardown(an_inactive_template_is_nothing, tear_down),
        cmocka_unit_test_teardown(a_held_template_is_waited_for, tear_down),
        cmocka_unit_test_teardown(memory_for_a_stand_in_may_be_short,
                                  tear_down),
        cmocka_unit_test_teardown(a_template_that_a_handler_frees_is_nothing,
                                  tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
