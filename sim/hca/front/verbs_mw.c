/* Commands about memory windows, which programs bind by themselves. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include <rdma/ib_user_verbs.h>

#include "sim/hca/front/adapter.h"
#include "sim/hca/front/destroy.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/verbs.h"
#include "sim/hca/window.h"

_Static_assert((int)MGDS_WINDOW_1 == (int)IBV_MW_TYPE_1 &&
                   (int)MGDS_WINDOW_2 == (int)IBV_MW_TYPE_2,
               "the engine's types are those of verbs");

static int make_mw(struct mgds_hca_file *file, struct mgds_hca_mw *mw,
                   unsigned type, uint32_t *handle)
{
    struct mgds_hca *engine = file->adapter->engine;
    int rc = mgds_hca_key_attach_window(engine, mw->pd->number, type, &mw->key);

    if (rc < 0)
        return rc;
    rc = mgds_hca_file_add(file, MGDS_HCA_OBJECT_MW, mw, handle);
    if (rc < 0)
        mgds_hca_key_detach(engine, mw->key);
    else
        mw->pd->users++;
    return rc;
}

int mgds_hca_verbs_alloc_mw(struct mgds_hca_file *file,
                            struct mgds_hca_command *command)
{
    const struct ib_uverbs_alloc_mw *in = command->request;
    struct ib_uverbs_alloc_mw_resp *out = command->response;
    struct mgds_hca_pd *pd =
        mgds_hca_file_get(file, MGDS_HCA_OBJECT_PD, in->pd_handle);
    struct mgds_hca_mw *mw;
    int rc;

    if (!pd || (in->mw_type != IBV_MW_TYPE_1 && in->mw_type != IBV_MW_TYPE_2))
        return -EINVAL;
    mw = malloc(sizeof(*mw));
    if (!mw)
        return -ENOMEM;
    mw->pd = pd;
    rc = make_mw(file, mw, in->mw_type, &out->mw_handle);
    if (rc < 0) {
        free(mw);
        return rc;
    }
    out->rkey = mw->key;
    return 0;
}

int mgds_hca_verbs_dealloc_mw(struct mgds_hca_file *file,
                              struct mgds_hca_command *command)
{
    const struct ib_uverbs_dealloc_mw *in = command->request;
    struct mgds_hca_mw *mw =
        mgds_hca_file_take(file, MGDS_HCA_OBJECT_MW, in->mw_handle);

    if (!mw)
        return -EINVAL;
    mgds_hca_destroy_mw(file, mw);
    return 0;
}
