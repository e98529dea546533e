/*
 * Request IDs: what other processes name records of ours by. They come back
 * over the wire, so they are looked up, never followed: one whose record is
 * gone, or that was made up, finds nothing.
 *
 *   serial      goes up by one with each record that is put in: 64 bits
 *   request ID  SipHash-2-4 of the serial under a key that was drawn for this
 *               table and goes nowhere; never 0. Who has seen any number of
 *               them cannot guess another one; none comes twice but by chance
 *               (2^-64)
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
#include "shim/base/siphash.h"

/* All 0: empty. */
struct mgds_request_ids {
    struct mgds_hash records;
    uint64_t serial; /* of the last one */
    struct mgds_siphash_key key;
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
