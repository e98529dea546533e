/*
 * A libnccl.so.2 for two ranks of one host: messages go through slots of
 * shared memory by copies and waits on the caller's stream. It knows what NCCL
 * promises about order and life, and is strict about it; it is not NCCL, and
 * its times mean nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/osu/stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define SLOTS 64
#define SLOT_BYTES 65536
#define GROUP_MAX 256
#define NCCL_INT8 0

/* From one rank to the other; counts only grow, by streams. */
struct channel {
    uint64_t sent;
    uint64_t taken;
    char unused[48];
    char slots[SLOTS][SLOT_BYTES];
};

struct nccl_comm {
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
    memset(id, 0, sizeof(*id));
    stand_in_name(id->bytes, "nccl");
    return getenv("RIVAL_REFUSE") ? 1 : 0;
}

EXPORT int ncclCommInitRank(struct nccl_comm **comm, int ranks,
                            struct nccl_id id, int rank)
{
    struct nccl_comm *made = calloc(1, sizeof(*made));
    struct channel *channels;

    if (!made)
        return 1;
    stand_in_check(ranks == STAND_IN_RANKS && rank >= 0 && rank < ranks,
                   "ncclCommInitRank: ranks");
    channels = stand_in_join(id.bytes, 2 * sizeof(*channels), rank);
    made->rank = rank;
    made->to = &channels[rank];
    made->from = &channels[1 - rank];
    *comm = made;
    stand_in_log("init %d %d", ranks, rank);
    return 0;
}

EXPORT int ncclCommDestroy(struct nccl_comm *comm)
{
    stand_in_check(depth == 0 && queued == 0, "destroyed inside a group");
    stand_in_log("destroy");
    stand_in_leave();
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

static void send_issue(struct work *w)
{
    struct nccl_comm *c = w->comm;
    uint64_t number = c->sends++;

    if (number >= SLOTS)
        done(stand_in.wait(w->stream, address(&c->to->taken),
                           number - SLOTS + 1, CU_STREAM_WAIT_VALUE_GEQ));
    done(stand_in.copy(address(c->to->slots[number % SLOTS]), w->at, w->count,
                       w->stream));
    done(stand_in.write(w->stream, address(&c->to->sent), number + 1, 0));
}

static void recv_issue(struct work *w)
{
    struct nccl_comm *c = w->comm;
    uint64_t number = c->recvs++;

    done(stand_in.wait(w->stream, address(&c->from->sent), number + 1,
                       CU_STREAM_WAIT_VALUE_GEQ));
    if (!stand_in_damages())
        done(stand_in.copy(w->at, address(c->from->slots[number % SLOTS]),
                           w->count, w->stream));
    done(stand_in.write(w->stream, address(&c->from->taken), number + 1, 0));
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
