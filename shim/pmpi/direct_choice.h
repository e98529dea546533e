/*
 * Whether a message goes by header, which its sender alone decides
 * (docs/header-rendezvous.md). Pure.
 */
#ifndef MGDS_PMPI_DIRECT_CHOICE_H
#define MGDS_PMPI_DIRECT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

/* How far a peer of a message is known. */
enum mgds_direct_peer {
    MGDS_DIRECT_PEER_FAR,    /* not of the job, of another host, or ourselves */
    MGDS_DIRECT_PEER_NEAR,   /* on this host; has not shown yet that it can */
    MGDS_DIRECT_PEER_PROVEN, /* has mapped memory of the message's device */
};

enum mgds_direct_choice {
    MGDS_DIRECT_STAGE,
    MGDS_DIRECT_SAMPLE, /* this time staged, and the peer is to be asked */
    MGDS_DIRECT_HEADER,
};

struct mgds_direct_message {
    bool exportable; /* in memory that another process can be told of */
    bool dense;
    size_t bytes;
};

/* from: bytes from which on messages go by header; 0: none do. */
enum mgds_direct_choice
mgds_direct_choose(const struct mgds_direct_message *message,
                   enum mgds_direct_peer peer, size_t from);

#endif
