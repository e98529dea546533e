/*
 * The program's own work on a stream: its three kernels, and graphs of what is
 * put there. Touches libcuda.so.1. One thread.
 */
#ifndef MGDS_HALO_LAUNCH_H
#define MGDS_HALO_LAUNCH_H

#include "osu-extensions/halo/args.h"

enum mgds_halo_kernel {
    MGDS_HALO_STEP,
    MGDS_HALO_PACK,
    MGDS_HALO_UNPACK,
    MGDS_HALO_KERNELS,
};

struct mgds_halo_launcher;
struct mgds_halo_graph;

/* Loads the kernels; for a stream, a CUstream, of the current context. Returns
 * 0, or negative errno with one line in why. */
int mgds_halo_launcher_create(struct mgds_halo_launcher **out, void *stream,
                              char why[256]);
void mgds_halo_launcher_destroy(struct mgds_halo_launcher *launcher);

/* 0 or -EIO. */
int mgds_halo_launch(struct mgds_halo_launcher *launcher,
                     enum mgds_halo_kernel which,
                     const struct mgds_halo_args *args);

/* The work that is put on the stream between begin and end becomes a graph,
 * which each launch runs once. 0, or -EIO with a line. */
int mgds_halo_graph_begin(struct mgds_halo_launcher *launcher, char why[256]);
int mgds_halo_graph_end(struct mgds_halo_launcher *launcher,
                        struct mgds_halo_graph **out, char why[256]);
int mgds_halo_graph_launch(struct mgds_halo_launcher *launcher,
                           struct mgds_halo_graph *graph);
void mgds_halo_graph_destroy(struct mgds_halo_graph *graph); /* NULL is fine */

#endif
