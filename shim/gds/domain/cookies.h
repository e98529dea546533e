/*
 * Cookies: what other processes name records of ours by. They come back over
 * the wire, so they are looked up, never followed: one whose record is gone, or
 * that was made up, finds nothing.
 *
 *   cookie   generation of the entry << 32 | its index + 1; never 0
 *   entry    the record, or NULL; its generation goes up when it is taken out,
 *            so that a cookie is found again only when its entry was used 2^32
 *            times since
 *
 * Entries have no reference: whoever puts a record in has one, and takes the
 * record out before that is given up.
 *
 * Pure, of one owner's lock. Each call costs a few nanoseconds; memory for as
 * many entries as were in at once.
 */
#ifndef MGDS_DOMAIN_COOKIES_H
#define MGDS_DOMAIN_COOKIES_H

#include <stdint.h>

/* All 0: empty. */
struct mgds_cookies {
    struct mgds_cookie_entry {
        void *record;
        uint32_t generation;
        uint32_t next; /* 1 + the index of the next one that is free, 0: none */
    } * entry;
    uint32_t count;
    uint32_t free; /* 1 + the index of the first one, 0: none */
};

/* -ENOMEM: nothing has changed. record: not NULL. */
int mgds_cookies_put(struct mgds_cookies *cookies, void *record,
                     uint64_t *cookie);

/* The record, or NULL. */
void *mgds_cookies_find(const struct mgds_cookies *cookies, uint64_t cookie);

/* Takes the record out if that cookie is its own; else nothing happens. */
void mgds_cookies_remove(struct mgds_cookies *cookies, uint64_t cookie,
                         const void *record);

/* Empty again. */
void mgds_cookies_fini(struct mgds_cookies *cookies);

#endif
