/*
 * Messages that matched probes on stream communicators have taken out: handles
 * of our own, of the kind of MPI's messages.
 */
#ifndef MGDS_PMPI_STREAM_MSG_H
#define MGDS_PMPI_STREAM_MSG_H

#include <mpi.h>
#include <stdbool.h>

struct mgds_message;
struct mgds_scomm;

struct mgds_stream_message {
    struct mgds_scomm *scomm; /* with a reference */
    struct mgds_message *engine;
};

/* Takes both over; 0 or negative errno, then they are the caller's. */
int mgds_messages_add(MPI_Message *handle,
                      const struct mgds_stream_message *message);

/* Takes it off; false if it is none of ours. */
bool mgds_messages_take(struct mgds_stream_message *out, MPI_Message handle);

#endif
