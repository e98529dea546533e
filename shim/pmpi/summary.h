/*
 * What a process leaves at its end when asked to: the line of MPIX_GDS_SUMMARY
 * (which calls passed through us) and the file of MPIX_GDS_TRACE.
 */
#ifndef MGDS_PMPI_SUMMARY_H
#define MGDS_PMPI_SUMMARY_H

/* Writes what was asked for; rank is that in MPI_COMM_WORLD, -1 unknown. */
void mgds_summary_print(int rank);

#endif
