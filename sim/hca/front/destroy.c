/* Objects go: one by one, or with their file. */
#include "sim/hca/front/destroy.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/front/adapter.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/key.h"
#include "sim/hca/qp.h"
#include "sim/hca/srq.h"

int mgds_hca_destroy_pd(struct mgds_hca_file *file, struct mgds_hca_pd *pd)
{
    if (pd->users)
        return -EBUSY;
    mgds_hca_adapter_drop_pd(file->adapter, pd);
    free(pd);
    return 0;
}

void mgds_hca_destroy_ah(struct mgds_hca_ah *ah)
{
    ah->pd->users--;
    free(ah);
}

void mgds_hca_destroy_mr(struct mgds_hca_file *file, struct mgds_hca_mr *mr)
{
    mgds_hca_key_detach(file->adapter->engine, mr->key);
    mr->pd->users--;
    mgds_hca_gpu_unmap(file->adapter->engine, &mr->mapped);
    free(mr);
}

void mgds_hca_destroy_mw(struct mgds_hca_file *file, struct mgds_hca_mw *mw)
{
    mgds_hca_key_detach(file->adapter->engine, mw->key);
    mw->pd->users--;
    free(mw);
}

void mgds_hca_destroy_qp(struct mgds_hca_verbs_qp *qp)
{
    struct mgds_hca_adapter *adapter = qp->file->adapter;

    adapter->qps[mgds_hca_adapter_slot(adapter, qp->engine->number)] = NULL;
    mgds_hca_qp_detach(qp->engine);
    if (qp->bfreg >= 0)
        mgds_hca_bar_give(&qp->file->bar, (uint32_t)qp->bfreg);
    qp->pd->users--;
    mgds_hca_file_put_channel(qp->file, qp->async);
    mgds_hca_pump_drop();
    free(qp);
}

int mgds_hca_destroy_cq(struct mgds_hca_verbs_cq *cq)
{
    struct mgds_hca_adapter *adapter = cq->file->adapter;
    uint32_t number = cq->engine->number;
    int rc = mgds_hca_cq_detach(cq->engine);

    if (rc < 0)
        return rc;
    adapter->cqs[number] = NULL;
    if (cq->channel)
        mgds_hca_file_put_channel(cq->file, cq->channel);
    mgds_hca_file_put_channel(cq->file, cq->async);
    free(cq);
    return 0;
}

int mgds_hca_destroy_srq(struct mgds_hca_verbs_srq *srq)
{
    struct mgds_hca_adapter *adapter = srq->file->adapter;
    uint32_t number = srq->engine->number;
    int rc = mgds_hca_srq_detach(srq->engine);

    if (rc < 0)
        return rc;
    adapter->srqs[number] = NULL;
    srq->pd->users--;
    free(srq);
    return 0;
}

static void destroy_one(struct mgds_hca_file *file, enum mgds_hca_object kind,
                        void *object)
{
    switch (kind) {
    case MGDS_HCA_OBJECT_QP:
        mgds_hca_destroy_qp(object);
        break;
    case MGDS_HCA_OBJECT_SRQ:
        mgds_hca_destroy_srq(object);
        break;
    case MGDS_HCA_OBJECT_CQ:
        mgds_hca_destroy_cq(object);
        break;
    case MGDS_HCA_OBJECT_MR:
        mgds_hca_destroy_mr(file, object);
        break;
    case MGDS_HCA_OBJECT_MW:
        mgds_hca_destroy_mw(file, object);
        break;
    case MGDS_HCA_OBJECT_AH:
        mgds_hca_destroy_ah(object);
        break;
    case MGDS_HCA_OBJECT_PD:
        mgds_hca_destroy_pd(file, object);
        break;
    default: /* pages go with the memory that they are of */
        break;
    }
}

void mgds_hca_destroy_all(struct mgds_hca_file *file)
{
    /* Who uses others goes before them. */
    for (int kind = MGDS_HCA_OBJECTS - 1; kind >= 0; kind--) {
        struct mgds_hca_table *table = &file->objects[kind];

        for (uint32_t i = 0; i < table->slots; i++) {
            if (table->slot[i])
                destroy_one(file, (enum mgds_hca_object)kind, table->slot[i]);
        }
        mgds_hca_table_fini(table);
    }
}
