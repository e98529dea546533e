/* Devices of this process, and their ports to others. */
#include "sim/hca/front/fabric.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sim/hca/engine.h"
#include "sim/hca/front/settings.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire/host.h"
#include "sim/hca/wire/port.h"

/* One device's end of the wire. */
struct end {
    uint16_t number;
    struct mgds_hca *engine; /* NULL: nobody has opened the device */
    struct mgds_hca_host *host;
    struct mgds_hca_port port;
    struct mgds_hca_wire outside; /* the port's */
    struct end *requester;        /* of this process, whose request is done */
};

static struct end ends[MGDS_HCA_DEVICES];
static struct mgds_hca_faults faults;
static pid_t member; /* 0: nobody is one */

static unsigned devices(void)
{
    return (unsigned)mgds_hca_settings()->count;
}

/* NULL: the device is another process's. */
static struct end *find_end(uint16_t number)
{
    for (unsigned i = 0; i < devices(); i++) {
        if (ends[i].number == number)
            return &ends[i];
    }
    return NULL;
}

static void carry_answer(void *ctx, const struct mgds_hca_answer *answer)
{
    struct end *end = ctx;

    if (end->requester)
        mgds_hca_answered(end->requester->engine, answer);
    else
        end->outside.answer(end->outside.ctx, answer);
}

static void carry_inside(struct end *from, struct end *to,
                         const struct mgds_hca_request *request)
{
    struct end *before = to->requester;
    struct mgds_hca_answer nobody = {
        .to = request->from,
        .psn = request->psn,
        .cause = MGDS_CAUSE_NO_RESPONSE,
    };

    if (!to->engine || !mgds_hca_qp_find(to->engine, request->to)) {
        mgds_hca_answered(from->engine, &nobody);
        return;
    }
    to->requester = from;
    mgds_hca_requested(to->engine, request);
    to->requester = before;
}

static void carry_request(void *ctx, const struct mgds_hca_request *request)
{
    struct end *from = ctx;
    const struct mgds_hca_qp *qp =
        mgds_hca_qp_find(from->engine, request->from);
    struct end *to = find_end(qp->set.lid);

    if (to)
        carry_inside(from, to, request);
    else
        from->outside.request(from->outside.ctx, request);
}

static bool is_ready(void *ctx, const struct mgds_hca_qp *qp)
{
    const struct end *end = ctx;

    return find_end(qp->set.lid) || end->outside.ready(end->outside.ctx, qp);
}

static void follow_state(void *ctx, struct mgds_hca_qp *qp)
{
    const struct end *end = ctx;

    if (qp->state != MGDS_STATE_RTR || !find_end(qp->set.lid))
        end->outside.changed(end->outside.ctx, qp);
}

static int poll_outside(void *ctx)
{
    const struct end *end = ctx;

    return end->outside.poll(end->outside.ctx);
}

struct mgds_hca_wire mgds_hca_fabric_wire(unsigned index)
{
    return (struct mgds_hca_wire){
        .request = carry_request,
        .answer = carry_answer,
        .ready = is_ready,
        .changed = follow_state,
        .poll = poll_outside,
        .ctx = &ends[index],
    };
}

void mgds_hca_fabric_bind(unsigned index, struct mgds_hca *engine)
{
    ends[index].engine = engine;
    if (engine)
        mgds_hca_port_bind(&ends[index].port, engine);
}

static void close_ends(void)
{
    for (unsigned i = 0; i < devices(); i++) {
        if (ends[i].host)
            mgds_hca_host_close(ends[i].host);
        ends[i].host = NULL;
    }
}

static int open_end(struct end *end, const char *folder)
{
    struct mgds_hca_medium medium;
    int rc = mgds_hca_host_open(&end->host, folder, 0);

    if (rc < 0)
        return rc;
    end->number = end->host->lid;
    medium = mgds_hca_host_medium(end->host);
    mgds_hca_port_init(&end->port, &medium);
    end->outside = mgds_hca_port_wire(&end->port);
    return mgds_hca_settings()->faults[0]
               ? mgds_hca_outlet_disturb(&end->port.outlet, &faults)
               : 0;
}

static void read_faults(void)
{
    const char *text = mgds_hca_settings()->faults, *wrong;

    if (mgds_hca_faults_parse(&faults, text, &wrong) == 0)
        return;
    mgds_warn("MPIX_SIM_HCA_FAULTS=%s: not understood from '%s' on, and there "
              "are no faults: write drop=1%%,delay=0.1%%,late=200us,seed=7",
              text, wrong);
    mgds_hca_faults_parse(&faults, "", &wrong);
}

static const char *remedy(int error)
{
    switch (error) {
    case EADDRNOTAVAIL:
        return "all its numbers are in use: use another MPIX_SIM_HCA_FABRIC";
    case EPERM:
        return "it is another user's, or open to others: remove it, or use "
               "another MPIX_SIM_HCA_FABRIC";
    case EINVAL:
        return "MPIX_SIM_HCA_FABRIC has a slash: leave it out";
    default:
        return "let the folder take files, or set XDG_RUNTIME_DIR to one that "
               "does";
    }
}

static void join(void)
{
    char folder[MGDS_HCA_FOLDER] = "shared memory";
    int rc = mgds_hca_registry_folder(folder, mgds_hca_runtime(),
                                      mgds_hca_settings()->fabric);

    read_faults();
    for (unsigned i = 0; i < devices() && rc == 0; i++)
        rc = open_end(&ends[i], folder);
    if (rc == 0) {
        member = getpid();
        return;
    }
    mgds_err("software HCA: %s: %s: there is no device now: %s", folder,
             strerror(-rc), remedy(-rc));
    close_ends();
}

bool mgds_hca_fabric_join(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, join);
    return member;
}

bool mgds_hca_fabric_ours(void)
{
    return member == 0 || member == getpid();
}

uint16_t mgds_hca_fabric_number(unsigned index)
{
    return mgds_hca_fabric_join() ? ends[index].number : 0;
}

/* Children that were forked share the numbers, and leave them to their
 * parent. */
void mgds_hca_fabric_leave(void)
{
    if (mgds_hca_fabric_ours())
        close_ends();
}
