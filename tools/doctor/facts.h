/* What mpix-gds-probe reported, checked and in C. The format is
 * tools/probe/facts.h's; nothing missing, nothing extra, no wrong type. */
#ifndef MGDS_DOCTOR_FACTS_H
#define MGDS_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct mgds_library_facts {
    int found; /* MPIX_Gds_query is in the process */
    const char *path;
    int error; /* what MPIX_Gds_query returned, MPI_SUCCESS is 0 */
    json_int_t version;
    json_int_t state; /* 1: it acts, 0: it only passes calls on */
    json_int_t cuda;
};

struct mgds_mpi_facts {
    const char *version;
    const char *path;
    int pointer_handles;
};

struct mgds_gpu_facts {
    int found; /* libcuda.so.1 could be loaded */
    const char *path;
    const char *error; /* "" if all calls went well */
    int version;       /* 1000 * major + 10 * minor */
    json_t *devices;
    json_t *peers; /* matrix of booleans */
    size_t count;  /* of devices */
};

/* What the rank's messages were, as mgds_probe_messages says. */
struct mgds_message_facts {
    bool asked; /* the members below are set */
    int device;
    const char *error; /* "" if it took part */
    int progress_cores;
    json_t *ways;
};

struct mgds_rank_facts {
    int rank;
    const char *host;
    const char *host_name;
    int pid;
    struct mgds_library_facts library;
    struct mgds_mpi_facts mpi;
    json_int_t memlock_soft; /* bytes, -1: unlimited */
    json_int_t memlock_hard;
    int cores;      /* that it may use */
    int processors; /* of its host */
    struct mgds_message_facts messages;
    bool asked_devices; /* the members below are set: one rank a host */
    json_t *hca;
    struct mgds_gpu_facts gpu;
};

/* Pointers lead into root; all zero is an empty report. */
struct mgds_facts {
    json_t *root;
    struct mgds_rank_facts *rank; /* in order of their numbers */
    size_t count;
};

/* Reads the one report in output, which may have other lines around it.
 * Returns 0, or -EINVAL with what is wrong in text (size bytes), -ENOMEM. */
int mgds_facts_parse(struct mgds_facts *facts, const char *output, char *text,
                     size_t size);

void mgds_facts_fini(struct mgds_facts *facts);

/* The rank that asked the devices of that rank's host. Never null. */
const struct mgds_rank_facts *
mgds_facts_of_host(const struct mgds_facts *facts,
                   const struct mgds_rank_facts *rank);

size_t mgds_facts_hosts(const struct mgds_facts *facts);

/* One device: a fact that is yes or no, by the probe's name for it. */
bool mgds_gpu_can(const struct mgds_gpu_facts *gpu, size_t device,
                  const char *fact);
const char *mgds_gpu_name(const struct mgds_gpu_facts *gpu, size_t device);
bool mgds_gpu_reaches(const struct mgds_gpu_facts *gpu, size_t from, size_t to);

/* How many HCAs of the list have an active port. */
size_t mgds_hca_active(const json_t *hca);

#endif
