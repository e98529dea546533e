/*
 * Counters as a program reads them: all of them in turn, and one by its name.
 * The argument: how many of three MPI_Barriers must have been counted.
 */
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#include "mpix_gds.h"
#include "tests/api/check.h"

enum { MOST = 1000 };

static int64_t value_of(const char *name)
{
    int64_t value = -1;

    CHECK(MPIX_Gds_counter(MPIX_GDS_COUNTER_NAMED, &name, NULL, &value) ==
          MPI_SUCCESS);
    return value;
}

/* Each has a name of its own, and by that the same meaning. */
static void each_can_be_read(void)
{
    static const char *names[MOST];
    const char *meaning, *again;
    bool is_call;
    int n = 0;

    while (MPIX_Gds_counter(n, &names[n], &meaning, NULL) == MPI_SUCCESS) {
        is_call = strncmp(names[n], "MPI", 3) == 0;
        CHECK(is_call == (meaning[0] == '\0'));
        for (int i = 0; i < n; i++)
            CHECK(strcmp(names[i], names[n]) != 0);
        CHECK(MPIX_Gds_counter(MPIX_GDS_COUNTER_NAMED, &names[n], &again,
                               NULL) == MPI_SUCCESS);
        CHECK(again == meaning);
        n++;
        CHECK(n < MOST);
    }
    CHECK(n > 100);
    CHECK(MPIX_Gds_counter(0, NULL, NULL, NULL) == MPI_SUCCESS);
}

static void refuse(int index, const char **name)
{
    const char *before = name ? *name : NULL, *meaning = "kept";
    int64_t value = 42;
    int class;

    MPI_Error_class(MPIX_Gds_counter(index, name, &meaning, &value), &class);
    CHECK(class == MPI_ERR_ARG);
    CHECK(value == 42 && strcmp(meaning, "kept") == 0);
    CHECK(!name || *name == before);
}

static void what_is_no_counter_is_refused(void)
{
    const char *none = "send_p2p_", *null = NULL;

    refuse(MOST, &none);
    refuse(-2, &none);
    refuse(MPIX_GDS_COUNTER_NAMED, &none);
    refuse(MPIX_GDS_COUNTER_NAMED, &null);
    refuse(MPIX_GDS_COUNTER_NAMED, NULL);
}

static void calls_are_counted_if_watched(int64_t wanted)
{
    const int64_t before = value_of("MPI_Barrier");

    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    CHECK(value_of("MPI_Barrier") - before == wanted);
}

int main(int argc, char **argv)
{
    int rank;

    CHECK(argc == 2);
    each_can_be_read();
    MPI_Init(NULL, NULL);
    what_is_no_counter_is_refused();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    calls_are_counted_if_watched(atoi(argv[1]));
    CHECK(value_of("libraries_changed") > 0);
    MPI_Finalize();
    each_can_be_read();
    if (rank == 0)
        puts("counters: all well");
    return 0;
}
