/*
 * SipHash-2-4: 64 bits over a message that nobody can make, or guess, who does
 * not have the 128-bit key. For short messages; written from the specification
 * (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), whose test
 * vectors are the unit test. docs/decisions.md says why it is ours.
 *
 * Messages are words of 8 bytes, and bytes after the last of them. A beginning
 * that many messages share can be hashed once: the state after it is a value.
 *
 * Pure. Takes the same time for all messages of one length.
 */
#ifndef MGDS_BASE_SIPHASH_H
#define MGDS_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct mgds_siphash_key {
    uint64_t word[2];
};

struct mgds_siphash {
    uint64_t v[4];
    uint64_t bytes; /* so far: of words only */
};

/* The state before a message. */
struct mgds_siphash mgds_siphash_begin(const struct mgds_siphash_key *key);

/* With one word more. */
void mgds_siphash_word(struct mgds_siphash *state, uint64_t word);

/* The hash of what was given, then of these bytes. */
uint64_t mgds_siphash_end(struct mgds_siphash state, const void *bytes,
                          size_t count);

/* Of a message that is there as a whole. */
uint64_t mgds_siphash(const struct mgds_siphash_key *key, const void *bytes,
                      size_t count);

#endif
