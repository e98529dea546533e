/*
 * Messages that go from GPU to GPU by a header (docs/header-rendezvous.md):
 * what the ranks of the job agree on in MPI_Init, and what is known of those of
 * this host.
 *
 * A rank that is *armed* (direct_arm.h) looks for headers in whatever it
 * receives. Any thread; between init and fini what is here is constant, or
 * atomic.
 */
#ifndef MGDS_PMPI_DIRECT_H
#define MGDS_PMPI_DIRECT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/direct/board.h"
#include "shim/gds/direct/header.h"
#include "shim/pmpi/direct_arm.h"
#include "shim/pmpi/direct_choice.h"

/* At the end of MPI_Init: collective where the settings ask for it, else
 * nothing at all. A rank that shares memory with no other is not armed. */
void mgds_direct_init(void);

/* In MPI_Finalize, before the world ends below, perhaps twice: what is sent
 * from here on is no header. Those that were sent on its communicators have
 * been received, or are orphans. */
void mgds_direct_leave_world(void);

/* When the last of the world and the sessions ends, after the requests have. */
void mgds_direct_fini(void);

/* MPIX_GDS_DIRECT; MPIX_GDS_DIRECT_SHARED; MPIX_GDS_DIRECT_EAGER. */
size_t mgds_direct_from(void);
size_t mgds_direct_from_shared(void);
size_t mgds_direct_eager(void);

/* A rank of a communicator in MPI_COMM_WORLD; -1: it has none, or the
 * communicator is one between groups, or may outlast the world, since it may be
 * a session's. */
int mgds_direct_world_rank(MPI_Comm comm, int rank);

/* How far the rank is known, of MPI_COMM_WORLD or -1, for memory of a device of
 * ours. */
enum mgds_direct_peer mgds_direct_peer(int rank, int device);

/* A header to this rank was withdrawn, since nobody came to match it: those to
 * come may find nobody either. So some sends that would not wait for it are to
 * be staged instead: whether the next one is, which is counted off. */
void mgds_direct_was_late(int rank);
bool mgds_direct_stage_instead(int rank);

/* A peer has had no sample of this memory's device: posts one, once. Makes GPU
 * memory: in a call that starts something. */
void mgds_direct_post_sample(const struct mgds_ptr *ptr);

/* Bytes have come into this memory: tries to map samples that were posted since
 * the last time, in its context. */
void mgds_direct_try_samples(const struct mgds_ptr *ptr);

/* The header's sender and receiver are filled in. */
void mgds_direct_encode(unsigned char out[MGDS_HEADER_BYTES],
                        struct mgds_header *header, int receiver);

/* Whether so many bytes at in, which came with this status, are a header for
 * this process that was not consumed before. */
bool mgds_direct_decode(struct mgds_header *out, const void *in,
                        MPI_Count bytes, const MPI_Status *status);

/* Our own board; that of the sender of a header. */
struct mgds_board *mgds_direct_own_board(void);
struct mgds_board *mgds_direct_board_of(const struct mgds_header *header);

/* Whether another rank of this host is known to use the context's GPU. */
bool mgds_direct_is_crowded(const struct mgds_context *ctx);

/* The context in which the sample of the header's device was mapped, borrowed;
 * NULL: none was. */
struct mgds_context *mgds_direct_context(const struct mgds_header *header);

/* Headers of that device cannot be served any more: the sender is to stage. */
void mgds_direct_give_up(const struct mgds_header *header);

/* This rank is in a call that serves its receives, or has left it; and such a
 * call has looked at all of them. Nothing where several threads may call MPI,
 * for a call serves its own thread's, nor where the rank is not armed. */
void mgds_direct_serve(bool inside);
void mgds_direct_pass(void);

/* What a rank that headers go to says of that (mgds_board_serving). */
uint64_t mgds_direct_serving(int rank);

/* Bytes of a block from which on the members of a communicator may carry a
 * collective out by messages of their own (coll_agree.h), as all ranks have
 * agreed; 0: they never do. */
size_t mgds_direct_collectives(void);

/* Whether all members are ranks of this host, more than one and of one group:
 * all of them are told the same. Where collectives may be carried so. */
bool mgds_direct_is_local(MPI_Comm comm);

/* How many ranks of this host are lower than this one. */
unsigned mgds_direct_place(void);

/* Whether messages between ranks of this host may go by header, as far as this
 * rank knows. */
bool mgds_direct_may_carry(void);

/* A communicator of all ranks, for bytes that went staged after all. */
MPI_Comm mgds_direct_comm(void);

/* A receiver may have refused a message of this rank. */
bool mgds_direct_has_refused(void);

/* Whether several threads may call MPI: written in init. */
extern bool mgds_direct_shared __attribute__((visibility("hidden")));

static inline bool mgds_direct_is_shared(void)
{
    return mgds_direct_shared;
}

#endif
