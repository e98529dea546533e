/* Numbers of claims; see claims.h. */
#include "shim/gds/stream/claims.h"

#include "shim/base/fault.h"

enum { BITS = 64, WORDS = MGDS_GSTREAM_CLAIMS / BITS };

/* The lowest bit that is not set in the word, now set; -1 if all are. */
static int take_bit(uint64_t *word)
{
    uint64_t bits = __atomic_load_n(word, __ATOMIC_RELAXED);

    while (~bits) {
        if (__atomic_compare_exchange_n(word, &bits, bits | (bits + 1), false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return __builtin_ctzll(~bits);
    }
    return -1;
}

int mgds_claims_take(struct mgds_claims *claims, unsigned most)
{
    for (unsigned i = 0; i < most / BITS; i++) {
        int bit = take_bit(&claims->taken[i]);

        if (bit >= 0)
            return (int)(BITS * i) + bit;
    }
    return -1;
}

void mgds_claims_give(struct mgds_claims *claims, unsigned number)
{
    __atomic_and_fetch(&claims->taken[number / BITS], ~(1ULL << number % BITS),
                       __ATOMIC_RELEASE);
    /* a hint: nothing comes with it */
    if (number < MGDS_GSTREAM_LONG_CLAIMS)
        __atomic_store_n(&claims->hopeless, false, __ATOMIC_RELAXED);
}

/* Nothing comes with it: who puts the operation's wait has seen it. */
void mgds_claims_serve(struct mgds_claims *claims, int change)
{
    __atomic_fetch_add(&claims->serving, (unsigned)change, __ATOMIC_RELAXED);
}

bool mgds_claims_any(const struct mgds_claims *claims)
{
    uint64_t any = __atomic_load_n(&claims->serving, __ATOMIC_RELAXED);

    for (int i = 0; i < WORDS; i++)
        any |= __atomic_load_n(&claims->taken[i], __ATOMIC_RELAXED);
    return any != 0;
}

uint64_t mgds_claims_generation(void)
{
    static uint64_t last;

    return MGDS_COUNT_FROM + __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
