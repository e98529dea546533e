/* SipHash-2-4; see siphash.h. Words are little-endian, as this host's are. */
#include "shim/base/siphash.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "words are read as they lie");

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void rounds(uint64_t v[4], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static inline void compress(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

struct mgds_siphash mgds_siphash_begin(const struct mgds_siphash_key *key)
{
    const uint64_t a = key->word[0];
    const uint64_t b = key->word[1];

    return (struct mgds_siphash){.v = {a ^ UINT64_C(0x736f6d6570736575),
                                       b ^ UINT64_C(0x646f72616e646f6d),
                                       a ^ UINT64_C(0x6c7967656e657261),
                                       b ^ UINT64_C(0x7465646279746573)}};
}

void mgds_siphash_word(struct mgds_siphash *state, uint64_t word)
{
    compress(state->v, word);
    state->bytes += sizeof(word);
}

uint64_t mgds_siphash_end(struct mgds_siphash state, const void *bytes,
                          size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t last = (state.bytes + count) << 56;
    uint64_t word;

    for (; count >= sizeof(word); count -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        compress(state.v, word);
        at += sizeof(word);
    }
    for (size_t i = 0; i < count; i++)
        last |= (uint64_t)at[i] << (8 * i);
    compress(state.v, last);
    state.v[2] ^= 0xff;
    rounds(state.v, 4);
    return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}

uint64_t mgds_siphash(const struct mgds_siphash_key *key, const void *bytes,
                      size_t count)
{
    return mgds_siphash_end(mgds_siphash_begin(key), bytes, count);
}
