/*
 * Prints docs/mpi-coverage.md from the tables of functions. A program of the
 * build, not of the installation.
 */
#include <stdio.h>
#include <string.h>

#include "shim/pmpi/calls.h"

static const char *const mode_text[] = {
    [MGDS_MODE_PASS] = "forwarded",
    [MGDS_MODE_REFUSE] = "host buffers; GPU buffers are an error",
    [MGDS_MODE_GPU] = "host and GPU buffers",
    [MGDS_MODE_STREAM] = "forwarded; own body for stream communicators",
    [MGDS_MODE_OWN] = "own body, then forwarded",
};

struct mpix_row {
    const char *name;
    const char *text;
};

#define TEXT_BUFFERS "host and GPU buffers"
#define TEXT_HERE "answered here"
#define TEXT_ABSENT "an error: not in this version"

static const struct mpix_row mpix_rows[] = {
#define MGDS_MPIX(name, n, kind) {"MPIX_" #name, TEXT_##kind},
#include "shim/pmpi/mpix_table.def"
#undef MGDS_MPIX
};

enum { MPIX_ROWS = sizeof(mpix_rows) / sizeof(mpix_rows[0]) };

static int is_large_count_twin(const char *name)
{
    size_t length = strlen(name);

    return length > 2 && strcmp(name + length - 2, "_c") == 0;
}

/* A row, unless it is that of a twin, which its function names. */
static void print_line(const char *name, int twin, const char *text)
{
    if (!is_large_count_twin(name))
        printf("| `%s`%s | %s |\n", name, twin ? ", `_c`" : "", text);
}

static void print_row(unsigned call)
{
    const struct mgds_call_row *row = &mgds_call_rows[call];
    int twin = call + 1 < MGDS_CALLS && is_large_count_twin(row[1].name);

    print_line(row->name, twin, mode_text[row->mode]);
}

static void print_family(enum mgds_family family)
{
    printf("\n## %s\n\n| function | what happens |\n| --- | --- |\n",
           mgds_family_title(family));
    for (unsigned call = 0; call < MGDS_CALLS; call++)
        if (mgds_call_rows[call].family == family)
            print_row(call);
}

static void print_mpix(void)
{
    printf("\n## MPIX: streams, and communication in their order\n\n"
           "`include/mpix_gds.h` says what each does.\n\n"
           "| function | what happens |\n| --- | --- |\n");
    for (int i = 0; i < MPIX_ROWS; i++)
        print_line(mpix_rows[i].name,
                   i + 1 < MPIX_ROWS &&
                       is_large_count_twin(mpix_rows[i + 1].name),
                   mpix_rows[i].text);
}

int main(void)
{
    printf("# MPI coverage\n\n"
           "Generated from `shim/pmpi/mpi_table.def` and `mpix_table.def` by "
           "`mgds-coverage-doc`; do not edit.\n"
           "The test `mpi/gpu_coverage` holds what it says of GPU buffers "
           "against the calls.\n\n"
           "%d functions are intercepted, each as `MPI_X` and as `PMPI_X`. "
           "Every other MPI function goes to the\nMPI library without "
           "passing here.\n",
           MGDS_CALLS);
    for (int family = 0; family < MGDS_FAMILIES; family++)
        print_family((enum mgds_family)family);
    print_mpix();
    return 0;
}
