/* Persistent receives that get what probes have kept; see persist_kept.h. */
#include "shim/pmpi/persist_kept.h"

#include <errno.h>

#include "shim/pmpi/direct_open.h"
#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/grequest.h"
#include "shim/pmpi/kept.h"

/* Stands in for the persistent request, to which it has two references: to its
 * buffer until release, and to its state until gone. */
struct bringer {
    struct mgds_request request; /* first */
    struct mgds_persist *persist;
};

static struct mgds_persist *persist_of(const struct mgds_request *request)
{
    return ((const struct bringer *)request)->persist;
}

static int landed(struct mgds_request *request, MPI_Status *status)
{
    return mgds_side_land(&persist_of(request)->side, status);
}

static int poll(struct mgds_request *request)
{
    return mgds_side_poll(&persist_of(request)->side);
}

static bool pulls(const struct mgds_request *request)
{
    return mgds_side_pulls(&persist_of(request)->side);
}

static void release(struct mgds_request *request)
{
    mgds_direct_open_remove(request);
    mgds_request_put(&persist_of(request)->request);
}

/* The program has completed the persistent request, or freed it. */
static void gone(struct mgds_request *request)
{
    struct mgds_request *persistent = &persist_of(request)->request;

    persistent->stand_in = NULL;
    mgds_request_step(persistent, MGDS_REQUEST_ON_REST);
    mgds_request_put(persistent);
}

static const struct mgds_request_ops ops = {.kind = MGDS_REQUEST_IS_GENERALIZED,
                                            .landed = landed,
                                            .poll = poll,
                                            .pulls = pulls,
                                            .release = release,
                                            .gone = gone};

static int create(struct bringer **out, struct mgds_persist *persist)
{
    struct bringer *bringer =
        mgds_request_new(sizeof(*bringer), &ops, persist->request.comm);

    if (!bringer)
        return -ENOMEM;
    mgds_request_get(&persist->request);
    bringer->persist = persist;
    *out = bringer;
    return mgds_grequest_start(&bringer->request);
}

static void begin(struct bringer *bringer)
{
    struct mgds_request *persistent = &bringer->persist->request;
    MPI_Request handle; /* the program has the persistent one's */

    mgds_request_get(persistent);
    persistent->stand_in = &bringer->request;
    mgds_request_step(persistent, MGDS_REQUEST_ON_GIVE);
    mgds_grequest_begin(&bringer->request, &handle);
    mgds_direct_open_add(&bringer->request);
}

int mgds_persist_give(struct mgds_persist *persist)
{
    const struct mgds_direct_match *from = &persist->from;
    struct bringer *bringer;
    int rc;

    if (!mgds_kept_look(from->comm, from->source, from->tag))
        return 0;
    rc = create(&bringer, persist);
    if (rc < 0)
        return rc;
    rc = mgds_direct_post_kept(
        &persist->side, mgds_kept_take(from->comm, from->source, from->tag),
        &bringer->request.below);
    if (rc != MPI_SUCCESS) {
        mgds_grequest_drop(&bringer->request);
        return -EIO;
    }
    begin(bringer);
    return 1;
}
