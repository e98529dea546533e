/*
 * Stream communicators: what this process knows of one, by the handle of the
 * communicator of the MPI below that it is. Collectives, windows and files use
 * that one; point-to-point goes to its matching domain.
 *
 *   create, dup      in the table, with the program's reference
 *   MPI_Comm_free    MPI deletes our attribute: off the table; the domain goes
 *                    when the last request has let go of it
 *   _disconnect      the same, after all that is under way on it
 *
 * Concurrency. The table is under its lock (LEAF). Members are constant but
 * for dups, which only collective calls touch, freed and owed.
 */
#ifndef MGDS_PMPI_STREAM_COMM_H
#define MGDS_PMPI_STREAM_COMM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/pmpi/stream.h"
#include "shim/pmpi/words.h"

struct mgds_comm;
struct mgds_scomm_roll;

struct mgds_scomm {
    unsigned refs; /* atomic */
    bool freed;    /* atomic: the handle may mean another one */
    MPI_Comm handle;
    struct mgds_comm *domain;
    struct mgds_stream **streams; /* entries NULL: MPIX_STREAM_NULL */
    unsigned stream_count;        /* at least 1 */
    struct mgds_scomm_roll *roll; /* who is in it, shared by duplicates */
    uint64_t id;
    uint64_t dups; /* made of it so far */
    int owed;      /* atomic: class of an error that was told to the handler,
                      and that no call has returned */
    struct mgds_scomm *next;
};

/* How many are alive: atomic. */
extern unsigned mgds_scomms_alive;

/* Are there any? One load. */
static inline bool mgds_scomms_any(void)
{
    return __atomic_load_n(&mgds_scomms_alive, __ATOMIC_RELAXED) != 0;
}

/* Has there ever been one? Sequentially consistent (frame.c). */
bool mgds_scomms_used(void);

/* The stream communicator with a reference, or NULL: another one. */
struct mgds_scomm *mgds_scomm_find(MPI_Comm handle);

/* The same, one load where there are none. */
static inline struct mgds_scomm *mgds_scomm_of(mgds_word handle)
{
    return mgds_scomms_any() ? mgds_scomm_find((MPI_Comm)handle) : NULL;
}

void mgds_scomm_get(struct mgds_scomm *scomm);
void mgds_scomm_put(struct mgds_scomm *scomm);

/* Whose error handler hears of its errors: itself, as long as the program has
 * it; then MPI_COMM_NULL (errmap.h). */
MPI_Comm mgds_scomm_teller(const struct mgds_scomm *scomm);

/* Ranks that a peer may have, and the greatest tag. */
int mgds_scomm_peers(const struct mgds_scomm *scomm);
int mgds_scomm_tag_ub(const struct mgds_scomm *scomm);

/* How many streams the peer has. */
unsigned mgds_scomm_peer_streams(const struct mgds_scomm *scomm, int peer);

/* The GPU stream of index 0, or NULL. */
struct mgds_gstream *mgds_scomm_gpu(const struct mgds_scomm *scomm);

/* Tells the error handler of errors that nobody was told of; those of freed
 * communicators to that of errors without one (untied.h). They stay owed: an
 * ordinary call returns its own errors alone, for what returns an error counts
 * as not done. */
void mgds_scomm_raise(struct mgds_scomm *scomm);

/* Likewise of all that have the stream, or of all (NULL); and returns the class
 * of the first that they owe, or if NULL a freed one: that is paid then. */
int mgds_scomms_raise(const struct mgds_stream *stream);

/* MPI_Finalize: waits for what is enqueued (MPIX_GDS_TIMEOUT), tells what went
 * wrong, and gives back all but memory that other processes may have mapped.
 * The class of an error that is owed. */
int mgds_scomms_fini(void);

/* Behind the end of the MPI below, which has waited for all processes of the
 * job to get there: they have closed what they had mapped, unless streams of
 * theirs still stand, and so that memory goes, too. It stays, until this
 * process ends, where its own streams do. */
void mgds_scomms_gone(void);

/* For stream_create.c: makes the object of a communicator below, puts it in
 * the table and the attribute on the communicator. Takes references to streams
 * and roll. */
struct mgds_scomm_spec {
    MPI_Comm handle;
    struct mgds_stream **streams;
    unsigned stream_count;
    struct mgds_scomm_roll *roll;
    uint64_t id;
};

int mgds_scomm_create(struct mgds_scomm **out,
                      const struct mgds_scomm_spec *spec);

/* From now on bodies that serve stream communicators are in use, for good. */
void mgds_scomms_begin(void);

#endif
