/* The network worker: UCX, for processes of other hosts, and of this one where
 * memory cannot be shared. Opened when a communicator first needs it; a
 * process all of whose peers are near has no UCX and no socket of ours. */
#include "shim/gds/wire/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/gds/wire/state.h"

enum { NET = MGDS_WIRE_WORKER_NET };

/* Of UCX 1, up to which settings of a transport have the names that they have
 * here. */
enum { LAST_BARE = 13 };

/* Bytes that one send over tcp has at most. UCX's own 8 KiB are for those who
 * do not copy what is longer. */
#define SEGMENT "512K"

struct mgds_net mgds_net = {.event = -1};

/* What UCX was asked for and refused. */
static int say_refusal(const char *what, ucs_status_t status)
{
    mgds_warn("UCX: %s failed: %s: stream communicators cannot be used; check "
              "the MPIX_GDS_UCX_* settings",
              what, mgds_net.ucx->ucs_status_string(status));
    return mgds_ucx_errno(status);
}

static int make_context(const ucp_config_t *settings)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .name = "mpix_gds",
    };
    ucs_status_t status = mgds_net.ucx->ucp_init_version(
        UCP_API_MAJOR, UCP_API_MINOR, &params, settings, &mgds_net.context);

    return status == UCS_OK ? 0 : say_refusal("ucp_init", status);
}

/* UCX has no way to ask for a value but to print all. To be freed. */
static char *text_of(const ucp_config_t *settings)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    if (!stream)
        return NULL;
    mgds_net.ucx->ucp_config_print(settings, stream, NULL,
                                   UCS_CONFIG_PRINT_CONFIG);
    fclose(stream);
    return text;
}

static bool is_set_to(const ucp_config_t *settings, const char *assignment)
{
    char *text = text_of(settings);
    bool found = text && strstr(text, assignment);

    free(text);
    return found;
}

/* UCX warns of settings of a transport that is not there. */
static bool has_tcp(const ucp_config_t *settings)
{
    char *text = text_of(settings);
    char *tls = text ? strstr(text, "UCX_TLS=") : NULL;
    bool found = false;

    if (tls) {
        tls[strcspn(tls, "\n")] = '\0';
        found = (strstr(tls, "all") || strstr(tls, "tcp")) && !strchr(tls, '^');
    }
    free(text);
    return found;
}

static void set_value(ucp_config_t *settings, const char *name,
                      const char *value)
{
    if (mgds_net.ucx->ucp_config_modify(settings, name, value) != UCS_OK)
        mgds_debug("UCX does not take %s=%s", name, value);
}

/* In UCX 1.13 a zero-copy send over tcp that ends after its peer has died
 * aborts the process that lives (uct_iface.h, "comp->count > 0"). So the
 * default becomes copying; what a user has set counts. */
static void avoid_zero_copy(ucp_config_t *settings)
{
    if (is_set_to(settings, "UCX_ZCOPY_THRESH=auto\n"))
        set_value(settings, "ZCOPY_THRESH", "inf");
}

/* UCX 1.13 aborts the process (tcp_ep.c, "CTX_TYPE_TX") when the peer dies
 * between its accepting of a connection and its answer: UCX connects again,
 * and while connecting blocks a refusal ends the endpoint twice. If it does
 * not block, the refusal is an event of its own. */
static void avoid_blocking_connect(ucp_config_t *settings)
{
    set_value(settings, "CONN_NB", "y");
}

/* UCX copies into segments. A receiver aborts at one that is longer than its
 * own, so both lengths are the user's if one is. */
static void lengthen_segments(ucp_config_t *settings)
{
    if (mgds_config_has_tcp_segments())
        return;
    set_value(settings, "TX_SEG_SIZE", SEGMENT);
    set_value(settings, "RX_SEG_SIZE", SEGMENT);
}

static void settle_tcp(ucp_config_t *settings)
{
    unsigned major, minor, release;

    mgds_net.ucx->ucp_get_version(&major, &minor, &release);
    if (minor > LAST_BARE || !has_tcp(settings))
        return;
    avoid_blocking_connect(settings);
    lengthen_segments(settings);
}

static int open_context(void)
{
    const struct mgds_ucx *ucx = mgds_net.ucx;
    ucp_config_t *settings;
    /* UCX makes MPIX_GDS_UCX_ of it; UCX_ still counts below that. */
    ucs_status_t status = ucx->ucp_config_read("MPIX_GDS", NULL, &settings);
    int rc;

    if (status != UCS_OK)
        return say_refusal("ucp_config_read", status);
    avoid_zero_copy(settings);
    settle_tcp(settings);
    rc = make_context(settings);
    ucx->ucp_config_release(settings);
    return rc;
}

/* One thread at a time is in UCX (the WIRE lock): SERIALIZED is what that
 * asks for, it is there in every build of UCX, and its locks cost nothing. */
static int open_worker(void)
{
    const struct mgds_ucx *ucx = mgds_net.ucx;
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status =
        ucx->ucp_worker_create(mgds_net.context, &params, &mgds_net.worker);

    if (status != UCS_OK)
        return say_refusal("ucp_worker_create", status);
    status = ucx->ucp_worker_get_efd(mgds_net.worker, &mgds_net.event);
    if (status != UCS_OK)
        return say_refusal("ucp_worker_get_efd", status);
    return 0;
}

static int find_address(void)
{
    struct mgds_wire_where *where = &mgds_wire.self.worker[NET];
    ucp_address_t *address;
    ucs_status_t status = mgds_net.ucx->ucp_worker_get_address(
        mgds_net.worker, &address, &where->bytes);

    if (status != UCS_OK)
        return say_refusal("ucp_worker_get_address", status);
    where->address = address;
    return 0;
}

int mgds_net_open(void)
{
    int rc;

    mgds_net.ucx = mgds_ucx();
    if (!mgds_net.ucx)
        return -ENOTSUP;
    rc = open_context();
    if (rc == 0)
        rc = open_worker();
    if (rc == 0)
        rc = find_address();
    if (rc < 0)
        mgds_net_close();
    return rc;
}

void mgds_net_close(void)
{
    const struct mgds_ucx *ucx = mgds_net.ucx;
    struct mgds_wire_where *where = &mgds_wire.self.worker[NET];

    if (where->address)
        ucx->ucp_worker_release_address(mgds_net.worker,
                                        (void *)(uintptr_t)where->address);
    if (mgds_net.worker)
        ucx->ucp_worker_destroy(mgds_net.worker);
    if (mgds_net.context)
        ucx->ucp_cleanup(mgds_net.context);
    *where = (struct mgds_wire_where){.bytes = 0};
    mgds_net.worker = NULL;
    mgds_net.context = NULL;
    mgds_net.event = -1;
}

int mgds_net_round(void)
{
    int events = 0;

    while (mgds_net.worker && events < MGDS_NET_ROUND &&
           mgds_net.ucx->ucp_worker_progress(mgds_net.worker) > 0)
        events++;
    return events;
}

int mgds_net_arm(void)
{
    ucs_status_t status = UCS_OK;

    if (mgds_net.worker)
        status = mgds_net.ucx->ucp_worker_arm(mgds_net.worker);
    if (status == UCS_OK || status == UCS_ERR_BUSY)
        return status == UCS_OK ? 0 : -EBUSY;
    mgds_warn_once("UCX cannot wait for messages: %s: the progress thread "
                   "polls instead; try another MPIX_GDS_UCX_TLS",
                   mgds_net.ucx->ucs_status_string(status));
    return mgds_ucx_errno(status);
}
