/*
 * Sends by header (docs/header-rendezvous.md), of which the sender alone
 * decides:
 *
 *   below      the header is sent in synchronous mode
 *   matched    a receive, or a probe, has it: its slot is OFFERED
 *   bringing   nobody came for a while: the bytes are on their way to host
 *              memory, from which they go below if they are there first
 *   over       copied by the receiver, or withdrawn
 */
#ifndef MGDS_PMPI_DIRECT_SEND_H
#define MGDS_PMPI_DIRECT_SEND_H

#include <stdbool.h>

#include "shim/pmpi/call.h"

/* addr, count, type, peer, tag, comm: the whole call. False: it is not one that
 * goes by header, and nothing was done. */
bool mgds_direct_send(mgds_word *result, const struct mgds_call_words *call);

/* The same with a request behind. */
bool mgds_direct_isend(mgds_word *result, const struct mgds_call_words *call);

/* The send half of a call, which looks itself how far it is. */
struct mgds_direct_offer;

/* 1: it goes by header, and there is an offer; 0: it does not. */
int mgds_direct_offer_create(struct mgds_direct_offer **out,
                             const struct mgds_call_words *call);

/* Sends the header, with the words that it was made with: MPI's code. */
int mgds_direct_offer_start(struct mgds_direct_offer *offer,
                            const struct mgds_call_words *call);

/* 1: the send is over; 0: not yet. *error: MPI's code of what the header met;
 * or negative errno. */
int mgds_direct_offer_poll(struct mgds_direct_offer *offer, int *error);

/* NULL is allowed. It is over, or was not started. */
void mgds_direct_offer_destroy(struct mgds_direct_offer *offer);

#endif
