/* Where the flows of a device send their packets: the fabric, with the faults
 * on the way there, and behind these at the speed of the port (pace.h). Packets
 * that are late are held here, up to MGDS_HCA_HELD of them; one more is not
 * made late. */
#ifndef MGDS_SIM_HCA_WIRE_OUTLET_H
#define MGDS_SIM_HCA_WIRE_OUTLET_H

#include "sim/hca/wire/fault.h"
#include "sim/hca/wire/fabric.h"

enum { MGDS_HCA_HELD = 16 };

struct mgds_hca;
struct mgds_hca_pace;

enum mgds_hca_count {
#define X(name, folder, text) MGDS_COUNT_##name,
#include "sim/hca/wire/counts.def"
#undef X
    MGDS_HCA_COUNTS
};

/* A packet that is late. */
struct mgds_hca_held {
    struct mgds_hca_packet packet;
    uint64_t due;  /* when it goes; 0: the place is free */
    bool let_past; /* it goes behind the next packet, at the latest then */
    uint16_t lid;
    uint8_t payload[MGDS_HCA_PAYLOAD];
};

struct mgds_hca_outlet {
    struct mgds_hca_fabric *fabric;
    struct mgds_hca *hca;       /* its clock */
    struct mgds_hca_pace *pace; /* NULL: as fast as it can */
    struct mgds_hca_faults faults;
    struct mgds_hca_held *held; /* NULL: no faults */
    uint64_t sent;              /* packets */
    uint64_t count[MGDS_HCA_COUNTS];
    bool blocked; /* one had no room, and nobody tells when it has */
};

/* One packet more, with so many bytes of payload. */
static inline void mgds_hca_outlet_count(struct mgds_hca_outlet *outlet,
                                         enum mgds_hca_count packets,
                                         enum mgds_hca_count words,
                                         uint64_t bytes)
{
    outlet->count[packets]++;
    outlet->count[words] += (bytes + 3) / 4;
}

/* Faults from now on, and their counts; -ENOMEM. */
int mgds_hca_outlet_disturb(struct mgds_hca_outlet *outlet,
                            const struct mgds_hca_faults *faults);
void mgds_hca_outlet_fini(struct mgds_hca_outlet *outlet);

/* False: no room now. The rest of *packet is filled in here. */
bool mgds_hca_outlet_send(struct mgds_hca_outlet *outlet, uint16_t lid,
                          struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload);

/* Sends those that are due: how many. */
int mgds_hca_outlet_run(struct mgds_hca_outlet *outlet);

/* When the next one is; 0: none is held. */
uint64_t mgds_hca_outlet_due(const struct mgds_hca_outlet *outlet);

/* The device is to be taken for dead, or its cable is out. */
static inline bool mgds_hca_outlet_dead(const struct mgds_hca_outlet *outlet)
{
    return outlet->faults.cut ||
           (outlet->faults.die && outlet->sent >= outlet->faults.die);
}

#endif
