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
    int is_send;
    CUdeviceptr at;
    size_t count;
    struct nccl_comm *comm;
    CUstream stream;
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

/* What is grouped runs at once: here, sends first. */
static void group_issue(void)
{
    for (int i = 0; i < queued; i++) {
        if (group[i].is_send)
            send_issue(&group[i]);
    }
    for (int i = 0; i < queued; i++) {
        if (!group[i].is_send)
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
    stand_in_check(peer == 1 - work.comm->rank, "not the peer");
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
    return add((struct work){1, address(at), count, comm, stream}, type, peer);
}

EXPORT int ncclRecv(void *at, size_t count, int type, int peer,
                    struct nccl_comm *comm, void *stream)
{
    return add((struct work){0, address(at), count, comm, stream}, type, peer);
}
