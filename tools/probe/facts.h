/* What mpix-gds-probe finds out inside a rank, as JSON for mpix-gds-doctor
 * (tools/doctor/facts.h reads it, and is as strict as this is complete).
 * Every function returns a new object, the caller's to free, or null without
 * memory. Facts only: what they mean is the doctor's business. */
#ifndef MGDS_PROBE_FACTS_H
#define MGDS_PROBE_FACTS_H

#include <stdbool.h>

#include <jansson.h>

/* The frame around the one line of JSON on standard output. */
#define MGDS_PROBE_BEGIN "mpix-gds-probe begin 2"
#define MGDS_PROBE_END "mpix-gds-probe end"

/* This process among all ranks, and among those of its host. */
struct mgds_probe_world {
    int rank, size, local;
};

/* libmpix_gds.so in this process: is it there, which, what does it say. */
json_t *mgds_probe_library(void);

/* The MPI in this process: version, file, kind of handles. */
json_t *mgds_probe_mpi(void);

/* Limit of locked memory, soft and hard, in bytes; -1 means unlimited. */
json_t *mgds_probe_memlock(void);

/* Cores that this rank may use, and processors that the host has. */
json_t *mgds_probe_cores(void);

/* CUDA driver, devices and what they can do. Initialises CUDA in this
 * process: once a host, and after all other facts. */
json_t *mgds_probe_gpu(void);

/* InfiniBand and RoCE devices as sysfs lists them (SYSFS_PATH moves that, as
 * it does for libibverbs). */
json_t *mgds_probe_hca(void);

/* Messages in GPU memory between all ranks: the device that this rank uses (or
 * -1), why it takes no part (or ""), the cores of the library's progress thread
 * (0: it had none) and the way of each message that it sent or received.
 * Collective; a message that fails ends the job with one line. */
json_t *mgds_probe_messages(const struct mgds_probe_world *world);

#endif
