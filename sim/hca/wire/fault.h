/* Faults of a device: which, how often, and how many there were. They follow
 * from a seed and the number of packets alone.
 *
 *   drop=1%,duplicate=0.5%,reorder=2%,delay=0.1%,late=200us,die=1000,seed=7
 *   rnr=30%,key=1%,place=20us,overrun=100,link=0
 *
 * Rates are parts of all packets that a device sends, for each of them one
 * fault at most: together they are no more than 100 %. `late` is how long a
 * delayed packet is on its way (ns, us, ms or s); one that is reordered lets
 * the next one past, or is as late. A `key` is wrong in a packet that has one
 * (an rkey, or the Q_Key of a datagram). `rnr` is a part of the messages that
 * are about to take a receive, and are told that there is none.
 *
 * After `die` packets the device is as if dead: it neither sends nor hears.
 * With `link=0` it is so until another text says otherwise, and its port says
 * what it does. The CQE that is `overrun` from now on finds no room. Data of
 * RDMA WRITEs is placed within `place`, in any order (placing.h). */
#ifndef MGDS_SIM_HCA_WIRE_FAULT_H
#define MGDS_SIM_HCA_WIRE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum mgds_hca_wire_fault {
#define X(name, ...) MGDS_WIRE_FAULT_##name,
#include "sim/hca/wire/faults.def"
#undef X
    MGDS_WIRE_FAULTS,
    MGDS_WIRE_FAULT_NONE = MGDS_WIRE_FAULTS
};

enum { MGDS_HCA_RATE_ALL = 1000000 };

struct mgds_hca_faults {
    uint32_t rate[MGDS_WIRE_FAULTS]; /* of a million */
    uint64_t count[MGDS_WIRE_FAULTS];
    uint64_t late;    /* ns */
    uint64_t die;     /* 0: never */
    uint64_t place;   /* ns; 0: at once */
    uint64_t overrun; /* 0: never */
    uint64_t seed;
    bool cut; /* link=0 */
};

/* Keys and values as above, separated by commas; an empty text has none. 0; or
 * -EINVAL, and *wrong is where the text is wrong. *faults is written in both
 * cases. A pure function. */
int mgds_hca_faults_parse(struct mgds_hca_faults *faults, const char *text,
                          const char **wrong);

/* What happens to the next packet; it is counted. */
enum mgds_hca_wire_fault mgds_hca_faults_draw(struct mgds_hca_faults *faults);

/* The message that is about to take a receive finds none; it is counted. */
bool mgds_hca_faults_not_ready(struct mgds_hca_faults *faults);

/* A number below `limit`, which is not 0. */
uint32_t mgds_hca_faults_random(struct mgds_hca_faults *faults, uint32_t limit);

#endif
