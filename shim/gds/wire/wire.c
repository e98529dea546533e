/* Opening and closing of the wire; see wire.h. */
#include "shim/gds/wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

enum {
    NS_PER_US = 1000,
    NS_PER_MS = 1000000,
    FORCE_NS = 200000000, /* for closes that do not wait for the peer */
    REST_NS = 20000       /* between rounds of a close */
};

struct mgds_wire mgds_wire = {
    .setup = MGDS_LOCK_INIT(MGDS_LOCK_SETUP),
    .lock = MGDS_LOCK_INIT(MGDS_LOCK_WIRE),
    .flights = TAILQ_HEAD_INITIALIZER(mgds_wire.flights),
    .lost = TAILQ_HEAD_INITIALIZER(mgds_wire.lost),
    .leaf = MGDS_LOCK_INIT(MGDS_LOCK_LEAF),
    .posts = TAILQ_HEAD_INITIALIZER(mgds_wire.posts),
    .spare = TAILQ_HEAD_INITIALIZER(mgds_wire.spare),
    .event = -1,
    .bell = -1,
};

/* What UCX was asked for and refused. */
static int refuse(const char *what, ucs_status_t status)
{
    mgds_warn("UCX: %s failed: %s: stream communicators cannot be used; check "
              "the MPIX_GDS_UCX_* settings",
              what, mgds_wire.ucx->ucs_status_string(status));
    return mgds_ucx_errno(status);
}

static int make_context(const ucp_config_t *settings)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .name = "mpix_gds",
    };
    ucs_status_t status = mgds_wire.ucx->ucp_init_version(
        UCP_API_MAJOR, UCP_API_MINOR, &params, settings, &mgds_wire.context);

    return status == UCS_OK ? 0 : refuse("ucp_init", status);
}

/* UCX has no way to ask for a value but to print all. */
static bool is_set_to(const ucp_config_t *settings, const char *assignment)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    bool found;

    if (!stream)
        return false;
    mgds_wire.ucx->ucp_config_print(settings, stream, NULL,
                                    UCS_CONFIG_PRINT_CONFIG);
    fclose(stream);
    found = text && strstr(text, assignment);
    free(text);
    return found;
}

/* In UCX 1.13 a zero-copy send over tcp that ends after its peer has died
 * aborts the process that lives (uct_iface.h, "comp->count > 0"). So the
 * default becomes copying; what a user has set counts. */
static void avoid_zero_copy(ucp_config_t *settings)
{
    if (is_set_to(settings, "UCX_ZCOPY_THRESH=auto\n") &&
        mgds_wire.ucx->ucp_config_modify(settings, "ZCOPY_THRESH", "inf") !=
            UCS_OK)
        mgds_debug("UCX does not take ZCOPY_THRESH=inf");
}

static int open_context(void)
{
    const struct mgds_ucx *ucx = mgds_wire.ucx;
    ucp_config_t *settings;
    /* UCX makes MPIX_GDS_UCX_ of it; UCX_ still counts below that. */
    ucs_status_t status = ucx->ucp_config_read("MPIX_GDS", NULL, &settings);
    int rc;

    if (status != UCS_OK)
        return refuse("ucp_config_read", status);
    avoid_zero_copy(settings);
    rc = make_context(settings);
    ucx->ucp_config_release(settings);
    return rc;
}

/* One thread at a time is in UCX (the WIRE lock): SERIALIZED is what that
 * asks for, it is there in every build of UCX, and its locks cost nothing. */
static int open_worker(void)
{
    const struct mgds_ucx *ucx = mgds_wire.ucx;
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status =
        ucx->ucp_worker_create(mgds_wire.context, &params, &mgds_wire.worker);

    if (status != UCS_OK)
        return refuse("ucp_worker_create", status);
    status = ucx->ucp_worker_get_efd(mgds_wire.worker, &mgds_wire.event);
    if (status != UCS_OK)
        return refuse("ucp_worker_get_efd", status);
    status = ucx->ucp_worker_get_address(mgds_wire.worker, &mgds_wire.address,
                                         &mgds_wire.address_bytes);
    if (status != UCS_OK)
        return refuse("ucp_worker_get_address", status);
    return mgds_wire_receive();
}

/* WIRE held. Gives back whatever of context and worker there is. */
static void shut_down(void)
{
    const struct mgds_ucx *ucx = mgds_wire.ucx;

    if (mgds_wire.address)
        ucx->ucp_worker_release_address(mgds_wire.worker, mgds_wire.address);
    if (mgds_wire.worker)
        ucx->ucp_worker_destroy(mgds_wire.worker);
    if (mgds_wire.context)
        ucx->ucp_cleanup(mgds_wire.context);
    mgds_wire.address = NULL;
    mgds_wire.worker = NULL;
    mgds_wire.context = NULL;
    mgds_wire.event = -1;
}

static int open_ucx(void)
{
    int rc;

    mgds_lock_acquire(&mgds_wire.lock);
    rc = open_context();
    if (rc == 0)
        rc = open_worker();
    if (rc < 0)
        shut_down();
    mgds_lock_release(&mgds_wire.lock);
    return rc;
}

static void accept_posts(bool accepting)
{
    mgds_lock_acquire(&mgds_wire.leaf);
    mgds_wire.accepting = accepting;
    mgds_lock_release(&mgds_wire.leaf);
}

static int open_all(const struct mgds_config *config)
{
    int rc;

    mgds_wire.nap_ns = config->wire_nap * NS_PER_US;
    mgds_wire.close_ns = config->wire_close * NS_PER_MS;
    mgds_wire.ucx = mgds_ucx();
    if (!mgds_wire.ucx)
        return -ENOTSUP;
    rc = open_ucx();
    if (rc < 0)
        return rc;
    rc = mgds_wire_thread_start();
    if (rc == 0) {
        accept_posts(true);
        return 0;
    }
    errno = -rc;
    mgds_warn("the progress thread cannot be started: %m: raise the limit of "
              "threads (ulimit -u)");
    mgds_lock_acquire(&mgds_wire.lock);
    shut_down();
    mgds_lock_release(&mgds_wire.lock);
    return rc;
}

int mgds_wire_open(const struct mgds_config *config)
{
    int rc = 0;

    mgds_lock_acquire(&mgds_wire.setup);
    if (mgds_wire.opens == 0)
        rc = open_all(config);
    if (rc == 0)
        mgds_wire.opens++;
    mgds_lock_release(&mgds_wire.setup);
    return rc;
}

int mgds_wire_address(const void **address, size_t *bytes)
{
    int rc = -ENOTCONN;

    mgds_lock_acquire(&mgds_wire.leaf);
    if (mgds_wire.accepting) {
        *address = mgds_wire.address;
        *bytes = mgds_wire.address_bytes;
        rc = 0;
    }
    mgds_lock_release(&mgds_wire.leaf);
    return rc;
}

static bool flights_over(void)
{
    return atomic_load(&mgds_wire.under_way) == 0;
}

static bool closes_over(void)
{
    return mgds_wire.closing == 0;
}

/* Rounds until over() or the deadline; WIRE held. Whether it is over. */
static bool rounds_until(bool (*over)(void), uint64_t deadline)
{
    const struct timespec rest = {.tv_nsec = REST_NS};

    while (!over()) {
        if (mgds_wire_round() > 0)
            continue;
        if (mgds_clock_ns() >= deadline)
            return false;
        nanosleep(&rest, NULL);
    }
    return true;
}

/* WIRE held. */
static void drain(void)
{
    uint64_t deadline = mgds_clock_ns() + mgds_wire.close_ns;
    bool over = rounds_until(flights_over, deadline);

    mgds_wire_close_peers(!over);
    over = rounds_until(closes_over,
                        over ? deadline : mgds_clock_ns() + FORCE_NS) &&
           over;
    if (!over)
        mgds_info("the wire was closed with messages under way after %llu ms",
                  (unsigned long long)(mgds_wire.close_ns / NS_PER_MS));
}

static void close_all(void)
{
    accept_posts(false);
    mgds_wire_thread_stop();
    mgds_lock_acquire(&mgds_wire.lock);
    drain();
    shut_down();
    mgds_wire_cancel_all();
    TAILQ_INIT(&mgds_wire.lost);
    mgds_wire.closing = 0;
    mgds_wire_forget_peers();
    mgds_wire_free_spare();
    mgds_lock_release(&mgds_wire.lock);
}

void mgds_wire_close(void)
{
    mgds_lock_acquire(&mgds_wire.setup);
    if (mgds_wire.opens > 0 && --mgds_wire.opens == 0)
        close_all();
    mgds_lock_release(&mgds_wire.setup);
}
