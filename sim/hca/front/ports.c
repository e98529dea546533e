/* Ports, and the short way between those of one process. */
#include "sim/hca/front/ports.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/host.h"
#include "sim/hca/engine.h"
#include "sim/hca/front/gid.h"
#include "sim/hca/front/gpu.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/qp.h"
#include "sim/hca/transit.h"
#include "sim/hca/wire/control.h"
#include "sim/hca/wire/port.h"
#include "sim/hca/wire/registry.h"

enum { SECOND = 1000 * 1000 * 1000, MICROSECOND = 1000 };

/* A port's end of the wire. */
struct end {
    struct device *device;
    uint16_t number;
    struct mgds_hca_port *port;
    struct mgds_hca_wire outside; /* the port's */
    struct mgds_hca_control control;
};

struct device {
    struct mgds_hca *engine;  /* NULL: nobody has opened the device */
    struct device *requester; /* of this process, whose request is done */
    struct end *current;      /* whose packets are taken */
    struct end *end;          /* of its first port, and then the others */
};

static struct device devices[MGDS_HCA_DEVICES];
static struct end ends[MGDS_HCA_DEVICES * MGDS_HCA_PORTS];
static unsigned count, each; /* of all devices, and of one */
static pid_t owner;          /* 0: nobody */

unsigned mgds_hca_ports(void)
{
    return (unsigned)mgds_hca_settings()->ports;
}

/* NULL: there is no such port, which may be any. */
static struct end *find_port(unsigned device, unsigned port)
{
    return device < MGDS_HCA_DEVICES && port - 1 < each && devices[device].end
               ? &devices[device].end[port - 1]
               : NULL;
}

static struct end *end_of(struct device *device, const struct mgds_hca_qp *qp)
{
    return &device->end[qp->set.port - 1];
}

/* NULL: the device is another process's, or everything goes as packets. */
static struct end *find_end(const struct mgds_hca_qp *qp)
{
    uint16_t number = mgds_hca_path_number(&qp->set.address);

    if (qp->attr.service != MGDS_SERVICE_RC)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        if (ends[i].number == number)
            return &ends[i];
    }
    return NULL;
}

static void carry_answer(void *ctx, const struct mgds_hca_answer *answer)
{
    struct device *device = ctx;

    if (!device->requester) {
        device->current->outside.answer(device->current->outside.ctx, answer);
        return;
    }
    mgds_hca_transit_settle(device->engine, NULL);
    mgds_hca_answered(device->requester->engine, answer);
}

/* QPs of the port that has the address. */
static bool hears(const struct end *to, const struct mgds_hca_request *request)
{
    const struct mgds_hca *engine = to->device->engine;
    struct mgds_hca_qp *qp =
        engine ? mgds_hca_qp_find(engine, request->to) : NULL;

    return qp && qp->state != MGDS_STATE_RESET && end_of(to->device, qp) == to;
}

static void carry_inside(struct device *from, struct end *end,
                         const struct mgds_hca_request *request)
{
    struct device *to = end->device, *before = to->requester;
    struct mgds_hca_answer nobody = {
        .to = request->from,
        .psn = request->psn,
        .cause = MGDS_CAUSE_NO_RESPONSE,
    };

    if (!hears(end, request)) {
        mgds_hca_answered(from->engine, &nobody);
        return;
    }
    to->requester = from;
    mgds_hca_requested(to->engine, request);
    to->requester = before;
}

/* A QP that has a flow has a peer in another process. */
static void carry_request(void *ctx, const struct mgds_hca_request *request)
{
    struct device *from = ctx;
    const struct mgds_hca_qp *qp =
        mgds_hca_qp_find(from->engine, request->from);
    const struct mgds_hca_wire *outside = &end_of(from, qp)->outside;

    if (qp->flow)
        outside->request(outside->ctx, request);
    else
        carry_inside(from, find_end(qp), request);
}

static bool is_ready(void *ctx, const struct mgds_hca_qp *qp)
{
    const struct mgds_hca_wire *outside = &end_of(ctx, qp)->outside;

    return qp->flow ? outside->ready(outside->ctx, qp) : find_end(qp) != NULL;
}

/* The short way has no answer that comes later than its request, and is as fast
 * as it can. With memory of GPUs, answers wait for what they tell of. */
static bool needs_packets(void)
{
    const struct mgds_hca_settings *set = mgds_hca_settings();

    return mgds_hca_gpu_is_there() || set->rate || set->latency ||
           set->out_of_order;
}

/* All of the process goes as packets, or nothing of it, as it was when its
 * first QP was connected. */
static bool takes_short_way(const struct mgds_hca_qp *qp)
{
    static enum { UNKNOWN, SHORT, PACKETS } way;

    if (way == UNKNOWN)
        way = needs_packets() ? PACKETS : SHORT;
    return way == SHORT && find_end(qp);
}

/* In RESET for the first time a QP has no port yet, and no flow. */
static void follow_state(void *ctx, struct mgds_hca_qp *qp)
{
    const struct mgds_hca_wire *outside;

    if (!qp->set.port)
        return;
    outside = &end_of(ctx, qp)->outside;
    if (qp->state != MGDS_STATE_RTR || !takes_short_way(qp))
        outside->changed(outside->ctx, qp);
}

static int poll_outside(void *ctx)
{
    struct device *device = ctx;
    int did = 0;

    for (unsigned i = 0; i < each; i++) {
        device->current = &device->end[i];
        did += device->current->outside.poll(device->current->outside.ctx);
    }
    return did;
}

struct mgds_hca_wire mgds_hca_ports_wire(unsigned index)
{
    return (struct mgds_hca_wire){
        .request = carry_request,
        .answer = carry_answer,
        .ready = is_ready,
        .changed = follow_state,
        .poll = poll_outside,
        .ctx = &devices[index],
    };
}

/* Once for each text, though devices are opened again. */
static void tell_wrong(const struct mgds_hca_control *control,
                       const char *wrong)
{
    static char told[MGDS_HCA_CONTROL];

    if (strcmp(told, control->text) == 0)
        return;
    memcpy(told, control->text, sizeof(told));
    mgds_warn("MPIX_SIM_HCA_CONTROL=%s: '%s' is not understood from '%s' on, "
              "and faults are as before: write drop=1%%,seed=7",
              control->path, control->text, wrong);
}

static void control(struct end *end)
{
    const char *path = mgds_hca_settings()->control, *wrong = "";
    int rc;

    if (!path[0])
        return;
    end->control.path = path;
    rc = mgds_hca_control_poll(&end->control, end->port, &wrong);
    if (rc == -EINVAL)
        tell_wrong(&end->control, wrong);
    else if (rc < 0)
        mgds_warn_once("MPIX_SIM_HCA_CONTROL=%s: %s: faults are as before: "
                       "name a file that can be read",
                       path, strerrordesc_np(-rc));
}

void mgds_hca_ports_control(void)
{
    for (unsigned i = 0; i < count; i++) {
        if (ends[i].device->engine)
            control(&ends[i]);
    }
}

static void disturb(struct mgds_hca_port *port)
{
    const char *text = mgds_hca_settings()->faults, *wrong = text;
    int rc = text[0] ? mgds_hca_port_disturb(port, text, &wrong) : 0;

    if (rc == -EINVAL)
        mgds_warn_once("MPIX_SIM_HCA_FAULTS=%s: not understood from '%s' on, "
                       "and there are no faults: write drop=1%%,delay=0.1%%,"
                       "late=200us,seed=7",
                       text, wrong);
    else if (rc < 0)
        mgds_warn_once("MPIX_SIM_HCA_FAULTS=%s: %s: there are no faults", text,
                       strerrordesc_np(-rc));
}

static void bind_end(struct end *end, struct mgds_hca *engine)
{
    mgds_hca_port_bind(end->port, engine);
    disturb(end->port);
    end->control = (struct mgds_hca_control){0};
    control(end);
}

void mgds_hca_ports_bind(unsigned index, struct mgds_hca *engine)
{
    struct device *device = &devices[index];

    device->engine = engine;
    for (unsigned i = 0; engine && i < each; i++)
        bind_end(&device->end[i], engine);
}

uint64_t mgds_hca_ports_count(unsigned device, unsigned port, unsigned what)
{
    const struct end *end = find_port(device, port);

    return end && end->port ? end->port->outlet.count[what] : 0;
}

/* Faults that a device will have when it is opened. */
static bool will_be_cut(void)
{
    const struct mgds_hca_settings *set = mgds_hca_settings();
    struct mgds_hca_faults faults;
    char text[MGDS_HCA_CONTROL] = "";
    const char *wrong;

    if (set->control[0] && mgds_hca_control_read(set->control, text) < 0)
        text[0] = '\0';
    if (text[0] && mgds_hca_faults_parse(&faults, text, &wrong) == 0)
        return faults.cut;
    return mgds_hca_faults_parse(&faults, set->faults, &wrong) == 0 &&
           faults.cut;
}

bool mgds_hca_ports_up(unsigned device, unsigned port)
{
    const struct end *end = find_port(device, port);

    if (end && end->device->engine)
        return mgds_hca_port_up(end->port);
    return !will_be_cut();
}

/* Nobody runs a device that is not open, and its packets would keep the thread
 * from its rest. */
bool mgds_hca_ports_lie_down(void)
{
    for (unsigned i = 0; i < count; i++) {
        if (!ends[i].device->engine)
            mgds_hca_port_discard(ends[i].port);
        if (mgds_hca_port_lie_down(ends[i].port))
            continue;
        while (i-- > 0)
            mgds_hca_port_get_up(ends[i].port);
        return false;
    }
    return true;
}

void mgds_hca_ports_get_up(void)
{
    for (unsigned i = 0; i < count; i++)
        mgds_hca_port_get_up(ends[i].port);
}

void mgds_hca_ports_sleep(uint64_t ns)
{
    struct pollfd mail[MGDS_HCA_DEVICES * MGDS_HCA_PORTS];
    struct timespec limit = {.tv_sec = (time_t)(ns / SECOND),
                             .tv_nsec = (long)(ns % SECOND)};

    for (unsigned i = 0; i < count; i++)
        mail[i] = (struct pollfd){.fd = mgds_hca_port_socket(ends[i].port),
                                  .events = POLLIN};
    ppoll(mail, count, &limit, NULL);
}

static void close_ports(void)
{
    for (unsigned i = 0; i < count; i++) {
        if (ends[i].port)
            mgds_hca_port_destroy(ends[i].port);
        ends[i].port = NULL;
    }
}

static struct mgds_hca_speed speed(void)
{
    const struct mgds_hca_settings *set = mgds_hca_settings();

    return (struct mgds_hca_speed){.rate = set->rate,
                                   .latency = set->latency * MICROSECOND};
}

static int add_gids(const struct end *end)
{
    struct mgds_hca_gid gid;
    int rc = 0;

    for (unsigned i = 0; i < mgds_hca_gids() && rc == 0; i++) {
        mgds_hca_gid(end->number, i, gid.raw);
        rc = mgds_hca_port_add_gid(end->port, &gid);
    }
    return rc;
}

static int open_port(unsigned i, const char *folder)
{
    struct mgds_hca_port_attr attr = {.folder = folder,
                                      .host = mgds_host_number(),
                                      .speed = speed(),
                                      .number = (uint8_t)(i % each + 1)};
    struct end *end = &ends[i];
    int rc = mgds_hca_port_create(&end->port, &attr);

    if (rc < 0)
        return rc;
    end->device = &devices[i / each];
    end->device->end = &ends[i - i % each];
    end->number = mgds_hca_port_lid(end->port);
    end->outside = mgds_hca_port_wire(end->port);
    return add_gids(end);
}

static const char *remedy(int error)
{
    switch (error) {
    case EADDRNOTAVAIL:
        return "all its numbers are in use: use another MPIX_SIM_HCA_NETWORK";
    case EPERM:
        return "it is another user's, or open to others: remove it, or use "
               "another MPIX_SIM_HCA_NETWORK";
    case EINVAL:
        return "MPIX_SIM_HCA_NETWORK has a slash: leave it out";
    default:
        return "let the folder take files, or set XDG_RUNTIME_DIR to one that "
               "does";
    }
}

static void open_ports(void)
{
    char folder[MGDS_HCA_FOLDER] = "its network";
    int rc = mgds_hca_registry_folder(folder, mgds_hca_runtime(),
                                      mgds_hca_settings()->network);

    each = mgds_hca_ports();
    count = (unsigned)mgds_hca_settings()->count * each;
    for (unsigned i = 0; i < count && rc == 0; i++)
        rc = open_port(i, folder);
    if (rc == 0) {
        owner = getpid();
        return;
    }
    mgds_err("software HCA: %s: %s: there is no device now: %s", folder,
             strerrordesc_np(-rc), remedy(-rc));
    close_ports();
}

bool mgds_hca_ports_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_ports);
    return owner;
}

bool mgds_hca_ports_ours(void)
{
    return owner == 0 || owner == getpid();
}

bool mgds_hca_ports_forget(void)
{
    for (unsigned i = 0; owner && i < count; i++) {
        if (ends[i].port)
            mgds_hca_port_forget(ends[i].port);
    }
    return owner;
}

uint16_t mgds_hca_port_number(unsigned device, unsigned port)
{
    const struct end *end =
        mgds_hca_ports_open() ? find_port(device, port) : NULL;

    return end ? end->number : 0;
}

/* Children that were forked share the ports, and leave them to their parent. */
void mgds_hca_ports_close(void)
{
    if (mgds_hca_ports_ours())
        close_ports();
}
