/*
 * Above an MPI with other handles (fake_mpi.c) every argument and result goes
 * through as the full machine word it is, at first use and later.
 */
#include <stdint.h>

#include "mpix_gds.h"
#include "tests/lib/mpi_check.h"

typedef uintptr_t word;

extern word fake_mpi_words[];
extern int MPIX_Gds_query(int, int64_t *) __attribute__((weak));

/* The words of an ABI that mpi.h does not describe. */
word fake_init(word, word) __asm__("MPI_Init");
word fake_finalize(void) __asm__("MPI_Finalize");
word fake_send(word, word, word, word, word, word) __asm__("MPI_Send");
word fake_rget_accumulate(word, word, word, word, word, word, word, word, word,
                          word, word, word,
                          word) __asm__("MPI_Rget_accumulate");

static const word answer = 0xfeedfacecafebeef;

static word wide(unsigned i)
{
    return 0x1122334400000000u * (i + 1) + 0x80000000u + i;
}

static void check_words(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        CHECK(fake_mpi_words[i] == wide(i));
}

int main(void)
{
    int64_t active = 1;

    for (int lap = 0; lap < 3; lap++) {
        CHECK(fake_init(wide(0), wide(1)) == answer);
        check_words(2);
        CHECK(fake_send(wide(0), wide(1), wide(2), wide(3), wide(4), wide(5)) ==
              answer);
        check_words(6);
        CHECK(fake_rget_accumulate(wide(0), wide(1), wide(2), wide(3), wide(4),
                                   wide(5), wide(6), wide(7), wide(8), wide(9),
                                   wide(10), wide(11), wide(12)) == answer);
        check_words(13);
        CHECK(fake_finalize() == answer);
    }
    CHECK(MPIX_Gds_query); /* the library is here, and looked on */
    CHECK(MPIX_Gds_query(MPIX_GDS_ACTIVE, &active) == 0 && active == 0);
    puts("words: all well");
    return 0;
}
