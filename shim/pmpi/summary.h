/*
 * What a process leaves of itself when asked to: the file of MPIX_GDS_TRACE,
 * and at its end the line of MPIX_GDS_SUMMARY (which calls passed through us).
 */
#ifndef MGDS_PMPI_SUMMARY_H
#define MGDS_PMPI_SUMMARY_H

/* Around the time in which MPI is initialised; rank is that in MPI_COMM_WORLD,
 * -1 unknown. */
void mgds_summary_begin(int rank);
void mgds_summary_end(int rank);

#endif
