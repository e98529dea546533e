/* A wire that keeps answers until it is told to let them go. */
#ifndef MGDS_TESTS_HCA_SLOW_H
#define MGDS_TESTS_HCA_SLOW_H

#include "tests/hca/place.h"

enum { SLOW_ANSWERS = 256, SLOW_BYTES = 1024 };

struct slow {
    struct place *place;
    unsigned requests; /* seen so far */
    unsigned first;
    unsigned next;
    struct mgds_hca_answer answer[SLOW_ANSWERS];
    uint8_t data[SLOW_ANSWERS][SLOW_BYTES];
};

/* For options.wire; place is the one that is opened with it. */
struct mgds_hca_wire slow_wire(struct slow *slow, struct place *place);

/* Lets so many answers go, and runs both devices. */
void slow_release(struct slow *slow, unsigned count);

#endif
