/*
 * A libnccl.so.2 for two ranks of one host: messages go through slots of
 * shared memory by copies and waits on the caller's stream. It knows what NCCL
 * promises about order and life, and is strict about it; it is not NCCL, and
 * its times mean nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/osu/stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define SLOTS 64
#define SLOT_BYTES 65536
#define GROUP_MAX 256
#define NCCL_INT8 0
#define NCCL_INT32 2
#define NCCL_FLOAT32 7
#define NCCL_SUM 0

/* From one rank to the other. A stream finds a slot empty, or full, and leaves
 * it the other way: a graph that is launched again finds it as the first time,
 * as long as both ranks launch theirs as often. */
struct channel {
    uint64_t full[SLOTS];
    char slots[SLOTS][SLOT_BYTES];
};

struct nccl_comm {
    struct channel *channels; /* of both ranks */
    struct channel *to;
    struct channel *from;
    uint64_t sends;
    uint64_t recvs;
    int rank;
};

struct nccl_id {
    char bytes[128];
};

struct work {
    CUdeviceptr at;
    size_t count;
    struct nccl_comm *comm;
    CUstream stream;
    int is_send;
    int peer;
};

static struct work group[GROUP_MAX];
static int queued;
static int depth;

#define X(name, result, params) EXPORT result name params;
#include "osu-extensions/nccl.def"
#undef X

EXPORT int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

EXPORT const char *ncclGetErrorString(int result)
{
    return result == 0 ? "no error" : "a stand-in's error";
}

EXPORT int ncclGetUniqueId(struct nccl_id *id)
{
    static int ids;
    char what[16];

    memset(id, 0, sizeof(*id));
    snprintf(what, sizeof(what), "nccl%d", ids++);
    stand_in_name(id->bytes, what);
    return getenv("RIVAL_REFUSE") ? 1 : 0;
}

EXPORT int ncclCommInitRank(struct nccl_comm **comm, int ranks,
                            struct nccl_id id, int rank)
{
    struct nccl_comm *made = calloc(1, sizeof(*made));

    if (!made)
        return 1;
    stand_in_check(ranks == STAND_IN_RANKS && rank >= 0 && rank < ranks,
                   "ncclCommInitRank: ranks");
    made->channels = stand_in_join(id.bytes, 2 * sizeof(*made->channels), rank);
    made->rank = rank;
    made->to = &made->channels[rank];
    made->from = &made->channels[1 - rank];
    *comm = made;
    stand_in_log("init %d %d", ranks, rank);
    return 0;
}

EXPORT int ncclCommDestroy(struct nccl_comm *comm)
{
    stand_in_check(depth == 0 && queued == 0, "destroyed inside a group");
    stand_in_log("destroy");
    stand_in_leave(comm->channels);
    free(comm);
    return 0;
}

static CUdeviceptr address(const volatile void *at)
{
    return (CUdeviceptr)(uintptr_t)at;
}

static void done(CUresult rc)
{
    stand_in_check(rc == CUDA_SUCCESS, "a call of the driver failed");
}

static void slot_await(struct work *w, struct channel *c, uint64_t slot,
                       uint64_t full)
{
    done(stand_in.wait(w->stream, address(&c->full[slot]), full,
                       CU_STREAM_WAIT_VALUE_EQ));
}

static void slot_set(struct work *w, struct channel *c, uint64_t slot,
                     uint64_t full)
{
    done(stand_in.write(w->stream, address(&c->full[slot]), full, 0));
}

static void send_issue(struct work *w)
{
    struct nccl_comm *c = w->comm;
    uint64_t slot = c->sends++ % SLOTS;

    slot_await(w, c->to, slot, 0);
    done(
        stand_in.copy(address(c->to->slots[slot]), w->at, w->count, w->stream));
    slot_set(w, c->to, slot, 1);
}

static void recv_issue(struct work *w)
{
    struct nccl_comm *c = w->comm;
    uint64_t slot = c->recvs++ % SLOTS;

    slot_await(w, c->from, slot, 1);
    if (!stand_in_damages())
        done(stand_in.copy(w->at, address(c->from->slots[slot]), w->count,
                           w->stream));
    slot_set(w, c->from, slot, 0);
}

static int is_own(const struct work *w)
{
    return w->peer == w->comm->rank;
}

/* From this rank to itself, in one group: no slot is needed. */
static void own_issue(struct work *w)
{
    for (int i = 0; i < queued; i++) {
        if (!group[i].is_send && is_own(&group[i])) {
            stand_in_check(group[i].count == w->count, "another count");
            done(stand_in.copy(group[i].at, w->at, w->count, w->stream));
            return;
        }
    }
    stand_in_check(0, "a message to itself that nobody receives");
}

/* What is grouped runs at once: here, sends first. */
static void group_issue(void)
{
    for (int i = 0; i < queued; i++) {
        if (group[i].is_send && is_own(&group[i]))
            own_issue(&group[i]);
        else if (group[i].is_send)
            send_issue(&group[i]);
    }
    for (int i = 0; i < queued; i++) {
        if (!group[i].is_send && !is_own(&group[i]))
            recv_issue(&group[i]);
    }
    queued = 0;
}

EXPORT int ncclGroupStart(void)
{
    stand_in_check(depth == 0, "a group inside a group");
    depth++;
    stand_in_log("group");
    return 0;
}

EXPORT int ncclGroupEnd(void)
{
    stand_in_check(depth == 1, "a group ends that has not begun");
    depth--;
    stand_in_log("end %d", queued);
    group_issue();
    return 0;
}

static int add(struct work work, int type, int peer)
{
    stand_in_check(type == NCCL_INT8, "not ncclInt8");
    stand_in_check(peer == 1 - work.comm->rank || (depth > 0 && is_own(&work)),
                   "not the peer");
    stand_in_check(work.count > 0 && work.count <= SLOT_BYTES, "count");
    stand_in_check(queued < GROUP_MAX, "group too long");
    stand_in_log("%s %zu", work.is_send ? "send" : "recv", work.count);
    group[queued++] = work;
    if (depth == 0)
        group_issue();
    return 0;
}

EXPORT int ncclSend(const void *at, size_t count, int type, int peer,
                    struct nccl_comm *comm, void *stream)
{
    return add((struct work){address(at), count, comm, stream, 1, peer}, type,
               peer);
}

EXPORT int ncclRecv(void *at, size_t count, int type, int peer,
                    struct nccl_comm *comm, void *stream)
{
    return add((struct work){address(at), count, comm, stream, 0, peer}, type,
               peer);
}

/* NCCL's own: `what` is the parameter that each has for itself. */
#define COLLECTIVE(name, what)                                                 \
    EXPORT int name(const void *send, void *recv, size_t count, int type,      \
                    what, struct nccl_comm *comm, void *stream)

/* A collective is messages between the two ranks. */
static void exchange(struct nccl_comm *comm, CUdeviceptr from, CUdeviceptr to,
                     size_t bytes, CUstream stream)
{
    int peer = 1 - comm->rank;

    send_issue(&(struct work){from, bytes, comm, stream, 1, peer});
    recv_issue(&(struct work){to, bytes, comm, stream, 0, peer});
}

static void bytes_check(int type, size_t bytes)
{
    stand_in_check(type == NCCL_INT8, "not ncclInt8");
    stand_in_check(bytes > 0 && bytes <= SLOT_BYTES, "count");
}

EXPORT int ncclAllGather(const void *send, void *recv, size_t count, int type,
                         struct nccl_comm *comm, void *stream)
{
    size_t own = (size_t)comm->rank * count;

    bytes_check(type, count);
    stand_in_log("allgather %zu", count);
    done(stand_in.copy(address(recv) + own, address(send), count, stream));
    exchange(comm, address(send), address(recv) + (count - own), count, stream);
    return 0;
}

COLLECTIVE(ncclBroadcast, int root)
{
    struct work work = {address(send), count, comm, stream, 1, 1 - comm->rank};

    bytes_check(type, count);
    stand_in_check(root == 0, "root");
    stand_in_log("broadcast %zu", count);
    if (comm->rank == root) {
        send_issue(&work);
        return 0;
    }
    work.at = address(recv);
    recv_issue(&work);
    return 0;
}

/* Both numbers are small: their sum is exact. */
static void number_add(int type, char *to, const char *more)
{
    float real[2];
    int whole[2];

    memcpy(&real[0], to, 4);
    memcpy(&real[1], more, 4);
    memcpy(&whole[0], to, 4);
    memcpy(&whole[1], more, 4);
    real[0] += real[1];
    whole[0] += whole[1];
    if (type == NCCL_FLOAT32)
        memcpy(to, &real[0], 4);
    else
        memcpy(to, &whole[0], 4);
}

/* By the CPU, which waits for the stream: NCCL does not. */
COLLECTIVE(ncclAllReduce, int operation)
{
    static char own[SLOT_BYTES], other[SLOT_BYTES];
    size_t bytes = 4 * count;

    stand_in_check(type == NCCL_INT32 || type == NCCL_FLOAT32, "type");
    stand_in_check(operation == NCCL_SUM, "not ncclSum");
    stand_in_check(bytes > 0 && bytes <= SLOT_BYTES, "count");
    stand_in_log("allreduce %zu", count);
    exchange(comm, address(send), address(recv), bytes, stream);
    done(stand_in.copy(address(own), address(send), bytes, stream));
    done(stand_in.copy(address(other), address(recv), bytes, stream));
    done(stand_in.finish(stream));
    for (size_t at = 0; at < bytes; at += 4)
        number_add(type, own + at, other + at);
    done(stand_in.copy(address(recv), address(own), bytes, stream));
    done(stand_in.finish(stream));
    return 0;
}
