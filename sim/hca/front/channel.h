/* Descriptors from which programs read events. Who writes: the front, under the
 * lock; who reads: the program, when it likes. All records of a channel have
 * one size, and begin with eight bytes that name the object. */
#ifndef MGDS_HCA_CHANNEL_H
#define MGDS_HCA_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mgds_hca_channel {
    int fd;  /* the program's */
    int own; /* of the same pipe, to read and write without waiting */
    size_t record;
    unsigned users; /* objects */
    struct mgds_hca_channel *next;
};

enum {
    MGDS_HCA_COMPLETION_RECORD = 8,
    MGDS_HCA_ASYNC_RECORD = 16,
    MGDS_HCA_RECORD_MAX = MGDS_HCA_ASYNC_RECORD
};

/* Makes a descriptor for the program. 0 or negative errno. */
int mgds_hca_channel_open(struct mgds_hca_channel *channel, size_t record);

/* The program's descriptor is not closed: that is its business. */
void mgds_hca_channel_close(struct mgds_hca_channel *channel);

/* False: the program has left so many events unread that none fits. */
bool mgds_hca_channel_send(const struct mgds_hca_channel *channel,
                           const void *record);

/* Takes back what was not read yet of this object: how many. */
uint32_t mgds_hca_channel_drop(const struct mgds_hca_channel *channel,
                               uint64_t object);

#endif
