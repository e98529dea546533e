/* Writes on their way. Memory of a GPU is behind a bus of its own: that
 * something has arrived there says nothing about what the HCA wrote elsewhere.
 * So once a device knows memory of a GPU, what it writes is held, for a random
 * time each:
 *
 *   QP --payload--> [ held ] --its time, or a reason--> host, or a GPU
 *
 *   ordering  what one QP writes to one of them     its CQEs and ACKs
 *   all       is there at once                      tell that it is there
 *   owner     arrives in the order of its writes    likewise
 *   none      host: likewise; a GPU: in any order   likewise; of a GPU: nothing
 *
 * Between QPs and between destinations there is no order in the last two.
 * Writes of a QP to the same bytes keep theirs. Reasons to let arrive what is
 * held: the HCA reads memory of that destination (as reads on PCIe push writes
 * ahead of them: what a READ or a DUMP is used for); a flush by the GPU; a CQE
 * or an ACK, as above; the end of a key or of the QP; and no place for one
 * more. Payload is copied when it is held. */
#ifndef MGDS_SIM_HCA_TRANSIT_H
#define MGDS_SIM_HCA_TRANSIT_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_hca;
struct mgds_hca_list;
struct mgds_hca_qp;

enum mgds_hca_ordering {
    MGDS_HCA_ORDERING_NONE,
    MGDS_HCA_ORDERING_OWNER,
    MGDS_HCA_ORDERING_ALL
};

/* Memory that no load or store reaches: the engine has a copy of it, which is
 * brought up to date, by `pull` before it is read and by `push` when it was
 * written. They have done it when they return. */
struct mgds_hca_far {
    void (*pull)(void *ctx, uint64_t offset, uint64_t bytes);
    void (*push)(void *ctx, uint64_t offset, uint64_t bytes);
    void *ctx;
};

/* Memory of a GPU, where the engine reaches it. */
struct mgds_hca_region {
    void *at;
    uint64_t bytes;
    unsigned gpu; /* its number */
    enum mgds_hca_ordering ordering;
    const struct mgds_hca_far *far; /* NULL: `at` is the memory itself. Or all
                                       is in order */
};

struct mgds_hca_transit;

/* A region is memory of that GPU from now on; and no more, when its key has
 * gone. -ENOMEM. */
int mgds_hca_transit_add(struct mgds_hca *hca,
                         const struct mgds_hca_region *region);
void mgds_hca_transit_drop(struct mgds_hca *hca, const void *at);

/* Does what mgds_hca_list_copy does, for all that a QP writes to memory of
 * programs. */
void mgds_hca_transit_store(const struct mgds_hca_qp *qp,
                            const struct mgds_hca_list *to,
                            const struct mgds_hca_list *from);

/* A word there was changed in place. */
void mgds_hca_transit_changed(struct mgds_hca *hca, void *at, uint64_t bytes);

/* The HCA is about to read this. */
void mgds_hca_transit_read(struct mgds_hca *hca,
                           const struct mgds_hca_list *list);

/* A GPU flushes: all writes to it are there. */
void mgds_hca_transit_flush(struct mgds_hca *hca, unsigned gpu);

/* Lets the writes arrive that a CQE or an ACK of this QP tells of; or of all
 * QPs (NULL). busy: there are such writes. */
void mgds_hca_transit_settle(struct mgds_hca *hca,
                             const struct mgds_hca_qp *qp);
bool mgds_hca_transit_busy(const struct mgds_hca_qp *qp);

/* Lets all writes arrive: memory or a QP is about to go. */
void mgds_hca_transit_land(struct mgds_hca *hca);

/* Lets arrive the writes that are due: how many. The time of the next one, or
 * 0. */
int mgds_hca_transit_run(struct mgds_hca *hca);
uint64_t mgds_hca_transit_due(const struct mgds_hca *hca);

void mgds_hca_transit_fini(struct mgds_hca *hca);

#endif
