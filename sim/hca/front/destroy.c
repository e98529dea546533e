/* Objects go: one by one, or with their file. */
#include "sim/hca/front/destroy.h"

#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/front/adapter.h"
#include "sim/hca/front/file.h"
#include "sim/hca/front/object.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/key.h"
#include "sim/hca/qp.h"

void mgds_hca_destroy_mr(struct mgds_hca_file *file, struct mgds_hca_mr *mr)
{
    mgds_hca_key_detach(file->adapter->engine, mr->key);
    mr->pd->users--;
    free(mr);
}

void mgds_hca_destroy_qp(struct mgds_hca_verbs_qp *qp)
{
    struct mgds_hca_adapter *adapter = qp->file->adapter;

    adapter->qps[mgds_hca_adapter_slot(adapter, qp->engine->number)] = NULL;
    mgds_hca_qp_detach(qp->engine);
    if (qp->bfreg >= 0)
        mgds_hca_bar_give(&qp->file->bar, (uint32_t)qp->bfreg);
    qp->pd->users--;
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
        cq->channel->users--;
    free(cq);
    return 0;
}

/* QPs before the CQs that they use, and PDs last. */
void mgds_hca_destroy_all(struct mgds_hca_file *file)
{
    struct mgds_hca_table *objects = file->objects;

    for (uint32_t i = 0; i < objects[MGDS_HCA_OBJECT_QP].slots; i++) {
        if (objects[MGDS_HCA_OBJECT_QP].slot[i])
            mgds_hca_destroy_qp(objects[MGDS_HCA_OBJECT_QP].slot[i]);
    }
    for (uint32_t i = 0; i < objects[MGDS_HCA_OBJECT_CQ].slots; i++) {
        if (objects[MGDS_HCA_OBJECT_CQ].slot[i])
            mgds_hca_destroy_cq(objects[MGDS_HCA_OBJECT_CQ].slot[i]);
    }
    for (uint32_t i = 0; i < objects[MGDS_HCA_OBJECT_MR].slots; i++) {
        if (objects[MGDS_HCA_OBJECT_MR].slot[i])
            mgds_hca_destroy_mr(file, objects[MGDS_HCA_OBJECT_MR].slot[i]);
    }
    for (uint32_t i = 0; i < objects[MGDS_HCA_OBJECT_PD].slots; i++)
        free(objects[MGDS_HCA_OBJECT_PD].slot[i]);
    for (int i = 0; i < MGDS_HCA_OBJECTS; i++)
        mgds_hca_table_fini(&objects[i]);
}
