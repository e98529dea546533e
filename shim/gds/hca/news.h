/* What a device tells of itself, apart from completions: events of its port,
 * and of queues that broke. A queue pair that breaks while nothing is posted
 * says so here alone. */
#ifndef MGDS_HCA_NEWS_H
#define MGDS_HCA_NEWS_H

#include <stdint.h>

struct mgds_rail;

/* Value 0 is no kind, so that forgotten ones are found. */
enum mgds_news_kind {
    MGDS_NEWS_PORT_DOWN = 1,
    MGDS_NEWS_PORT_UP,
    MGDS_NEWS_QUEUE,  /* a queue pair, or its CQ, is broken */
    MGDS_NEWS_DEVICE, /* the device is gone for good */
    MGDS_NEWS_OTHER   /* nothing has to be done */
};

struct mgds_news {
    enum mgds_news_kind kind;
    uint32_t qpn; /* of QUEUE; 0: of a CQ */
    int event;    /* as verbs has it */
};

/* The next event: 1; 0: there is none. Does not wait. */
int mgds_rail_hear(struct mgds_rail *rail, struct mgds_news *out);

/* A descriptor that is readable while there is an event; the rail's. */
int mgds_rail_news_fd(const struct mgds_rail *rail);

#endif
