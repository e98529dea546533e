/*
 * Prints docs/mpi-coverage.md from the interception table. A program of the
 * build, not of the installation.
 */
#include <stdio.h>
#include <string.h>

#include "shim/pmpi/calls.h"

static const char *const mode_text[] = {
    [MGDS_MODE_PASS] = "forwarded",
    [MGDS_MODE_BUFFER] = "forwarded; host buffers only so far",
    [MGDS_MODE_GPU] = "host and GPU buffers",
    [MGDS_MODE_STREAM] = "forwarded; own body for stream communicators",
    [MGDS_MODE_OWN] = "own body, then forwarded",
};

static int is_large_count_twin(const struct mgds_call_row *row)
{
    size_t length = strlen(row->name);

    return length > 2 && strcmp(row->name + length - 2, "_c") == 0;
}

static void print_row(unsigned call)
{
    const struct mgds_call_row *row = &mgds_call_rows[call];
    int twin = call + 1 < MGDS_CALLS && is_large_count_twin(row + 1);

    if (is_large_count_twin(row))
        return;
    printf("| `%s`%s | %s |\n", row->name, twin ? ", `_c`" : "",
           mode_text[row->mode]);
}

static void print_family(enum mgds_family family)
{
    printf("\n## %s\n\n| function | what happens |\n| --- | --- |\n",
           mgds_family_title(family));
    for (unsigned call = 0; call < MGDS_CALLS; call++)
        if (mgds_call_rows[call].family == family)
            print_row(call);
}

int main(void)
{
    printf("# MPI coverage\n\n"
           "Generated from `shim/pmpi/mpi_table.def` by "
           "`mgds-coverage-doc`; do not edit.\n\n"
           "%d functions are intercepted, each as `MPI_X` and as `PMPI_X`. "
           "Every other MPI function goes to the\nMPI library without "
           "passing here.\n",
           MGDS_CALLS);
    for (int family = 0; family < MGDS_FAMILIES; family++)
        print_family((enum mgds_family)family);
    return 0;
}
