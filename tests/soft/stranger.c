/* The stranger of stranger.h: a UCX program of its own, which knows the form of
 * our frames. */
#include "tests/soft/stranger.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/gds/wire/ucx.h"
#include "tests/soft/wire_place.h"

enum { IN = 100, OUT = 101, NOBODY = 65534, MOST_BODY = 1 << 21 };

const char *stranger_program;

static void write_all(int fd, const void *at, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, (const char *)at + done, bytes - done);

        if (n <= 0)
            abort();
        done += (size_t)n;
    }
}

static bool read_all(int fd, void *at, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, (char *)at + done, bytes - done);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

void stranger_start(struct stranger *stranger, const void *address,
                    size_t bytes)
{
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};

    CLAIM(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    stranger->pid = fork();
    CLAIM(stranger->pid >= 0);
    if (stranger->pid == 0) {
        if (dup2(to[0], IN) < 0 || dup2(from[1], OUT) < 0)
            _exit(3);
        execl(stranger_program, stranger_program, "stranger", (char *)NULL);
        _exit(4);
    }
    close(to[0]);
    close(from[1]);
    stranger->to = to[1];
    stranger->from = from[0];
    write_all(stranger->to, &bytes, sizeof(bytes));
    write_all(stranger->to, address, bytes);
}

unsigned stranger_does(struct stranger *stranger,
                       const struct stranger_order *order)
{
    unsigned sent = 0;

    write_all(stranger->to, order, sizeof(*order));
    CLAIM(read_all(stranger->from, &sent, sizeof(sent)));
    return sent;
}

void stranger_end(struct stranger *stranger)
{
    const struct stranger_order leave = {.deed = STRANGER_LEAVES};
    int status;

    stranger_does(stranger, &leave);
    CLAIM(waitpid(stranger->pid, &status, 0) == stranger->pid);
    assert_int_equal(status, 0);
    close(stranger->to);
    close(stranger->from);
}

/* In the stranger. */

static struct {
    const struct mgds_ucx *ucx;
    ucp_worker_h worker;
    ucp_ep_h endpoint;
    unsigned pending;
    char *body;
    uint64_t seed;
} me;

static void need_ok(ucs_status_t status)
{
    if (status != UCS_OK)
        _exit(5);
}

static void become_nobody(void)
{
    if (geteuid() == 0 &&
        (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
         setresuid(NOBODY, NOBODY, NOBODY) != 0))
        _exit(6);
}

static void on_error(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)arg;
    (void)endpoint;
    need_ok(status);
}

static void open_worker(void)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features =
                                     UCP_FEATURE_AM | UCP_FEATURE_WAKEUP};
    const ucp_worker_params_t worker = {.field_mask =
                                            UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_config_t *config;
    ucp_context_h context;

    me.ucx = mgds_ucx();
    if (!me.ucx)
        _exit(7);
    /* the same transports as the wire's */
    need_ok(me.ucx->ucp_config_read("MPIX_GDS", NULL, &config));
    need_ok(me.ucx->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params,
                                     config, &context));
    need_ok(me.ucx->ucp_worker_create(context, &worker, &me.worker));
}

static void open_endpoint(void)
{
    size_t bytes = 0;
    void *address;
    ucp_ep_params_t params = {.field_mask =
                                  UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                  UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {.cb = on_error}};

    if (!read_all(IN, &bytes, sizeof(bytes)))
        _exit(8);
    address = malloc(bytes);
    if (!address || !read_all(IN, address, bytes))
        _exit(8);
    params.address = address;
    need_ok(me.ucx->ucp_ep_create(me.worker, &params, &me.endpoint));
    free(address);
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    (void)arg;
    need_ok(status);
    me.ucx->ucp_request_free(request);
    me.pending--;
}

static void send_one(const void *header, size_t bytes, size_t body_bytes)
{
    const ucp_request_param_t param = {.op_attr_mask =
                                           UCP_OP_ATTR_FIELD_CALLBACK |
                                           UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                       .cb.send = on_sent,
                                       .memory_type = UCS_MEMORY_TYPE_HOST};
    void *request = me.ucx->ucp_am_send_nbx(me.endpoint, 0, header, bytes,
                                            me.body, body_bytes, &param);

    if (UCS_PTR_IS_ERR(request))
        need_ok(UCS_PTR_STATUS(request));
    me.pending += UCS_PTR_IS_PTR(request);
    while (me.pending > 0)
        me.ucx->ucp_worker_progress(me.worker);
}

static uint64_t draw(void)
{
    me.seed = me.seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return me.seed ^ me.seed >> 29;
}

static void send_babble(size_t body_bytes)
{
    unsigned char bytes[2 * sizeof(struct mgds_wire_frame)];
    size_t count = 1 + draw() % (sizeof(bytes) - 1);

    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(draw() >> 8);
    send_one(bytes, count, body_bytes);
}

static unsigned obey(struct stranger_order *order)
{
    struct mgds_wire_frame *frame = &order->frame;
    unsigned times = order->deed == STRANGER_SHORTENS
                         ? (unsigned)order->frame_bytes - 1
                         : order->times;

    for (unsigned i = 0; i < times; i++) {
        if (order->deed == STRANGER_INVENTS) {
            frame->tag = draw();
            frame->number = draw() >> (i % 64);
        }
        if (order->deed == STRANGER_BABBLES)
            send_babble(order->body_bytes);
        else if (order->deed == STRANGER_SHORTENS)
            send_one(frame, i + 1, order->body_bytes);
        else
            send_one(frame, order->frame_bytes, order->body_bytes);
    }
    return times;
}

/* However it ends: all has gone out. */
static void on_closed(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    (void)arg;
    me.ucx->ucp_request_free(request);
    me.pending--;
}

static void close_endpoint(void)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK, .cb.send = on_closed};

    if (UCS_PTR_IS_PTR(me.ucx->ucp_ep_close_nbx(me.endpoint, &param)))
        me.pending++;
    while (me.pending > 0)
        me.ucx->ucp_worker_progress(me.worker);
}

int stranger_main(void)
{
    struct stranger_order order;
    unsigned sent = 0;

    become_nobody();
    signal(SIGPIPE, SIG_DFL);
    me.seed = (uint64_t)getpid();
    me.body = malloc(MOST_BODY);
    if (!me.body)
        return 9;
    memset(me.body, 0xe1, MOST_BODY);
    open_worker();
    open_endpoint();
    while (read_all(IN, &order, sizeof(order)) &&
           order.deed != STRANGER_LEAVES) {
        sent = obey(&order);
        write_all(OUT, &sent, sizeof(sent));
    }
    close_endpoint();
    write_all(OUT, &sent, sizeof(sent));
    return 0;
}
