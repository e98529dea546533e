/*
 * Request IDs: what other processes name records of ours by. They come back
 * over the wire, so they are looked up, never followed: one whose record is
 * gone, or that was made up, finds nothing.
 *
 *   serial      goes up by one with each record that is put in, from a number
 *            that was drawn for this table: 64 bits
 *   request ID   a permutation of the serial, spread over all 64 bits; never 0.
 *            None comes twice, of this table or, but by chance, of another's.
 *            No secret: what may be said of a record is decided by the seal of
 *            who says it, and by whether that is the record's peer (admit.h)
 *
 * Records are in without a reference: whoever puts one in has one, and takes
 * the record out before that is given up.
 *
 * Pure, of one owner's lock; hash.h says what it costs.
 */
#ifndef MGDS_MSG_REQUEST_IDS_H
#define MGDS_MSG_REQUEST_IDS_H

#include <stdint.h>

#include "shim/base/hash.h"

/* All 0: empty. */
struct mgds_request_ids {
    struct mgds_hash records;
    uint64_t serial; /* of the last one */
};

/* -ENOMEM, or what getrandom failed with: nothing has changed. record: not
 * NULL. */
int mgds_request_ids_put(struct mgds_request_ids *request_ids, void *record,
                         uint64_t *request_id);

/* The record, or NULL. */
void *mgds_request_ids_find(const struct mgds_request_ids *request_ids,
                            uint64_t request_id);

/* Takes the record out if that request ID is its own; else nothing happens. */
void mgds_request_ids_remove(struct mgds_request_ids *request_ids,
                             uint64_t request_id, const void *record);

/* Empty again. */
void mgds_request_ids_fini(struct mgds_request_ids *request_ids);

#endif
