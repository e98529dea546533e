/*
 * An MPI that is not MPICH: handles are pointers, results use the whole
 * register. It keeps the words of each call, for words.c to compare.
 */
#include <stdint.h>
#include <string.h>

enum { WORDS = 13 };

uintptr_t fake_mpi_words[WORDS];

/* A result no int holds: an ABI whose functions return a pointer, say. */
static const uintptr_t answer = 0xfeedfacecafebeef;

uintptr_t MPI_Init(uintptr_t a, uintptr_t b);
uintptr_t MPI_Finalize(void);
uintptr_t MPI_Send(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
                   uintptr_t e, uintptr_t f);
uintptr_t MPI_Rget_accumulate(uintptr_t a, uintptr_t b, uintptr_t c,
                              uintptr_t d, uintptr_t e, uintptr_t f,
                              uintptr_t g, uintptr_t h, uintptr_t i,
                              uintptr_t j, uintptr_t k, uintptr_t l,
                              uintptr_t m);
int PMPI_Get_library_version(char *version, int *length);

uintptr_t MPI_Init(uintptr_t a, uintptr_t b)
{
    fake_mpi_words[0] = a;
    fake_mpi_words[1] = b;
    return answer;
}

uintptr_t MPI_Finalize(void)
{
    return answer;
}

uintptr_t MPI_Send(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
                   uintptr_t e, uintptr_t f)
{
    uintptr_t words[] = {a, b, c, d, e, f};

    memcpy(fake_mpi_words, words, sizeof(words));
    return answer;
}

uintptr_t MPI_Rget_accumulate(uintptr_t a, uintptr_t b, uintptr_t c,
                              uintptr_t d, uintptr_t e, uintptr_t f,
                              uintptr_t g, uintptr_t h, uintptr_t i,
                              uintptr_t j, uintptr_t k, uintptr_t l,
                              uintptr_t m)
{
    uintptr_t words[] = {a, b, c, d, e, f, g, h, i, j, k, l, m};

    memcpy(fake_mpi_words, words, sizeof(words));
    return answer;
}

int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "Fake MPI 1.0 with pointer handles");
    *length = (int)strlen(version);
    return 0;
}
