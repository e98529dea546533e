/* Several messages at once, completed in every way that takes many requests. */
#include "tests/mpi/matrix/case.h"

#include <stdlib.h>

#define MESSAGES 5
#define REQUESTS (2 * MESSAGES)

enum how { WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME };

struct window {
    struct mgds_mx_case *c;
    struct mgds_mx_type type;
    size_t count; /* elements of a message; they lie one behind the other */
    int from;
    int to;
    struct mgds_mx_buffer send;
    struct mgds_mx_buffer recv;
    unsigned char *packed;
    MPI_Request requests[REQUESTS]; /* receives, then sends */
    MPI_Status statuses[REQUESTS];  /* of completed ones, by request */
    int done[REQUESTS];
};

static void place(struct window *w, struct mgds_mx_buffer *b, int from, int to)
{
    size_t bytes = w->count * w->type.data;

    for (int m = 0; m < MESSAGES; m++) {
        mgds_mx_stream(w->c, from, to, m, w->packed, bytes);
        mgds_mx_buffer_place(b, (size_t)m * w->count, w->packed, bytes);
    }
}

static int window_init(struct window *w, struct mgds_mx_case *c)
{
    size_t elements;

    w->c = c;
    w->from = (c->rank + c->ranks - 1) % c->ranks;
    w->to = (c->rank + 1) % c->ranks;
    /* a power of two of the bytes, so that every datatype fits */
    mgds_mx_type_init(&w->type, c->type_kind,
                      c->bytes >= 4096 ? c->bytes / 8 : c->bytes, &w->count);
    elements = w->count > 0 ? MESSAGES * w->count : 1;
    if (mgds_mx_buffer_init(&w->send, "send buffer", c->kind[0], &w->type,
                            elements) < 0)
        goto fini_type;
    if (mgds_mx_buffer_init(&w->recv, "receive buffer", c->kind[1], &w->type,
                            elements) < 0)
        goto fini_send;
    w->packed = mgds_mx_alloc(w->count * w->type.data);
    place(w, &w->send, c->rank, w->to);
    mgds_mx_buffer_upload(&w->send);
    mgds_mx_buffer_upload(&w->recv);
    return 0;
fini_send:
    mgds_mx_buffer_fini(&w->send);
fini_type:
    mgds_mx_type_fini(&w->type);
    mgds_mx_fail(c, "no memory for the buffers");
    return -1;
}

static void window_fini(struct window *w)
{
    free(w->packed);
    mgds_mx_buffer_fini(&w->recv);
    mgds_mx_buffer_fini(&w->send);
    mgds_mx_type_fini(&w->type);
}

static void post(struct window *w)
{
    size_t step = w->count * (size_t)w->type.extent;
    int n = (int)w->count;

    for (int m = 0; m < MESSAGES; m++)
        MGDS_MX(w->c, MPI_Irecv(w->recv.user + (size_t)m * step, n, w->type.mpi,
                                w->from, m, w->c->comm, &w->requests[m]));
    for (int m = MESSAGES; m-- > 0;)
        MGDS_MX(w->c,
                MPI_Isend(w->send.user + (size_t)m * step, n, w->type.mpi,
                          w->to, m, w->c->comm, &w->requests[MESSAGES + m]));
}

static void note(struct window *w, int index, const MPI_Status *status)
{
    if (index < 0 || index >= REQUESTS || w->done[index]) {
        mgds_mx_fail(w->c, "request %d is said to be complete again", index);
        return;
    }
    w->done[index] = 1;
    w->statuses[index] = *status;
    if (w->requests[index] != MPI_REQUEST_NULL)
        mgds_mx_fail(w->c, "completed request %d is not MPI_REQUEST_NULL",
                     index);
}

static void note_all(struct window *w, const MPI_Status *statuses)
{
    for (int i = 0; i < REQUESTS; i++)
        note(w, i, &statuses[i]);
}

/* One call; the requests it completed are noted, their number returned. */
static int complete_some(struct window *w)
{
    enum how how = (enum how)w->c->call->arg[0];
    MPI_Status statuses[REQUESTS];
    int indices[REQUESTS];
    int count = 0;
    int flag = 1;
    int rc;

    if (how == WAITANY)
        rc = MPI_Waitany(REQUESTS, w->requests, &indices[0], &statuses[0]);
    else if (how == TESTANY)
        rc = MPI_Testany(REQUESTS, w->requests, &indices[0], &flag,
                         &statuses[0]);
    else if (how == WAITSOME)
        rc = MPI_Waitsome(REQUESTS, w->requests, &count, indices, statuses);
    else
        rc = MPI_Testsome(REQUESTS, w->requests, &count, indices, statuses);
    if (how == WAITANY || how == TESTANY)
        count = flag ? 1 : 0;
    if (!mgds_mx_success(w->c, rc, "the completion"))
        return -1;
    for (int i = 0; i < count; i++)
        note(w, indices[i], &statuses[i]);
    return count;
}

static void complete(struct window *w)
{
    enum how how = (enum how)w->c->call->arg[0];
    MPI_Status statuses[REQUESTS];
    int flag = 0;
    int left = REQUESTS;

    if (how == WAITALL) {
        MGDS_MX(w->c, MPI_Waitall(REQUESTS, w->requests, statuses));
        note_all(w, statuses);
        return;
    }
    if (how == TESTALL) {
        while (!flag && MGDS_MX(w->c, MPI_Testall(REQUESTS, w->requests, &flag,
                                                  statuses)))
            ;
        note_all(w, statuses);
        return;
    }
    while (left > 0) {
        int some = complete_some(w);

        if (some < 0)
            return;
        left -= some;
    }
}

static void statuses_check(struct window *w)
{
    for (int m = 0; m < MESSAGES; m++) {
        const MPI_Status *s = &w->statuses[m];
        int count = -1;

        MPI_Get_count(s, w->type.mpi, &count);
        if (s->MPI_SOURCE != w->from || s->MPI_TAG != m ||
            count != (int)w->count)
            mgds_mx_fail(w->c,
                         "status of receive %d: %d elements from %d, tag %d", m,
                         count, s->MPI_SOURCE, s->MPI_TAG);
    }
}

static void run(struct mgds_mx_case *c)
{
    struct window w = {.c = c};

    if (window_init(&w, c) < 0)
        return;
    post(&w);
    complete(&w);
    statuses_check(&w);
    place(&w, &w.recv, w.from, c->rank);
    mgds_mx_expect(c, &w.recv);
    mgds_mx_expect(c, &w.send);
    window_fini(&w);
}

/* arg: how the requests are completed. */
const struct mgds_mx_call mgds_mx_window_calls[] = {
    {"Waitall", run, {WAITALL, 0, 0}},
    {"Waitany", run, {WAITANY, 0, 0}},
    {"Waitsome", run, {WAITSOME, 0, 0}},
    {"Testall", run, {TESTALL, 0, 0}},
    {"Testany", run, {TESTANY, 0, 0}},
    {"Testsome", run, {TESTSOME, 0, 0}},
    {NULL, NULL, {0}},
};
