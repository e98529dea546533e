/*
 * Whether a message goes by header, which its sender alone decides
 * (docs/header-rendezvous.md). Pure.
 */
#ifndef MGDS_PMPI_DIRECT_CHOICE_H
#define MGDS_PMPI_DIRECT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far a peer of a message is known. */
enum mgds_direct_peer {
    MGDS_DIRECT_PEER_FAR,    /* not of the job, of another host, or ourselves */
    MGDS_DIRECT_PEER_NEAR,   /* on this host; has not shown yet that it can */
    MGDS_DIRECT_PEER_PROVEN, /* has mapped memory of the message's device */
    MGDS_DIRECT_PEER_SHARES, /* the same, and uses that very GPU */
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

/* Bytes from which on messages go by header; 0: none do. */
struct mgds_direct_from {
    size_t any;
    size_t shared; /* at least, to who shares the GPU */
};

enum mgds_direct_choice
mgds_direct_choose(const struct mgds_direct_message *message,
                   enum mgds_direct_peer peer,
                   const struct mgds_direct_from *from);

/* Since when a header is below, or is known to be matched, and what its
 * receiver said of its service then (mgds_board_serving). */
struct mgds_direct_wait {
    uint64_t since; /* ns */
    uint64_t served;
};

/*
 * Whether the sender has waited long enough for the receiver to take a message
 * whose header was matched. Two passes that the receiver has made since without
 * taking it: the second began after the header was matched, so it is not to be
 * taken by that call. While the receiver is in a call that serves, and makes no
 * passes, it has no core: then a while. Else it computes, or sits in a call of
 * another kind: less. An eager send does not wait for its receiver: less of
 * both, no longer than what staging costs a few times over.
 */
bool mgds_direct_is_due(const struct mgds_direct_wait *wait, uint64_t now,
                        uint64_t serving, bool eager);

/*
 * The same of an eager send's header that is not matched yet. That the receiver
 * has looked since says nothing, but that it does not copy others.
 */
bool mgds_direct_is_late(const struct mgds_direct_wait *wait, uint64_t now,
                         uint64_t serving);

#endif
