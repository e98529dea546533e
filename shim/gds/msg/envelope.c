/* Envelopes as they come over the wire: their lengths, and values that no
 * record is needed to judge; see envelope.h. */
#include "shim/gds/msg/envelope.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/stats.h"

/* Lines for what is refused: the rest is counted. */
enum { LINES = 16 };

/* As Linux has them. */
enum { LARGEST_ERRNO = 4095 };

static const struct form {
    const char *name;
    size_t bytes; /* of the head, at least */
} forms[MGDS_ENVELOPES] = {
    [MGDS_ENVELOPE_RTS] = {"RTS", offsetof(struct mgds_rts, address)},
    [MGDS_ENVELOPE_PULL] = {"PULL", sizeof(struct mgds_pull)},
    [MGDS_ENVELOPE_DATA] = {"DATA", sizeof(struct mgds_data)},
    [MGDS_ENVELOPE_REACHED] = {"REACHED", sizeof(struct mgds_tell)},
    [MGDS_ENVELOPE_SUBSCRIBE] = {"SUBSCRIBE", sizeof(struct mgds_tell)},
    [MGDS_ENVELOPE_TAKEN] = {"TAKEN", offsetof(struct mgds_taken, request_id)},
    [MGDS_ENVELOPE_HELLO] = {"HELLO", sizeof(struct mgds_tell)},
    [MGDS_ENVELOPE_EXPORT] = {"EXPORT", sizeof(struct mgds_exported)},
    [MGDS_ENVELOPE_IMPORTED] = {"IMPORTED", sizeof(struct mgds_imported)},
    [MGDS_ENVELOPE_REVOKE] = {"REVOKE", sizeof(struct mgds_revoke)},
    [MGDS_ENVELOPE_ENDED] = {"ENDED", sizeof(struct mgds_ended)},
    [MGDS_ENVELOPE_GRANT] = {"GRANT", sizeof(struct mgds_grant)},
    [MGDS_ENVELOPE_BROKEN] = {"BROKEN", sizeof(struct mgds_broken)},
    [MGDS_ENVELOPE_RING_ASKED] = {"RING_ASKED", sizeof(struct mgds_ring_asked)},
    [MGDS_ENVELOPE_RING_TOLD] = {"RING_TOLD", sizeof(struct mgds_ring_told)},
    [MGDS_ENVELOPE_RING_MAPPED] = {"RING_MAPPED",
                                   sizeof(struct mgds_ring_said)},
    [MGDS_ENVELOPE_RING_SHORT] = {"RING_SHORT", sizeof(struct mgds_ring_said)},
    [MGDS_ENVELOPE_RING_CLOSED] = {"RING_CLOSED",
                                   sizeof(struct mgds_ring_said)},
};

/* False: as many lines as are worth it were said. */
static bool count_line(void)
{
    static unsigned said; /* atomic */
    unsigned n = __atomic_fetch_add(&said, 1, __ATOMIC_RELAXED);

    mgds_count(envelopes_refused);
    if (n == LINES)
        mgds_err("more envelopes are refused: they are only counted "
                 "(envelopes_refused)");
    return n < LINES;
}

void mgds_envelope_refuse(enum mgds_envelope kind, uint32_t rank,
                          const char *why)
{
    if (count_line())
        mgds_err("%s of rank %" PRIu32 " is refused: %s", forms[kind].name,
                 rank, why);
}

void mgds_envelope_refuse_ring(enum mgds_envelope kind, const char *why)
{
    if (count_line())
        mgds_err("%s of another process is refused: %s", forms[kind].name, why);
}

/* Who sent it cannot be said: that would be in the head. */
static int refuse_length(enum mgds_envelope kind, const char *what, size_t has)
{
    if (count_line())
        mgds_err("%s of an unknown rank is refused: %zu bytes are no length of "
                 "its %s: do all processes of the job load the same "
                 "libmpix_gds.so?",
                 forms[kind].name, has, what);
    return -EPROTO;
}

static bool has_length(enum mgds_envelope kind, const void *head, size_t bytes)
{
    size_t least = forms[kind].bytes;
    struct mgds_taken taken;

    if (kind == MGDS_ENVELOPE_RTS && bytes == sizeof(struct mgds_rts))
        return true;
    if (kind != MGDS_ENVELOPE_TAKEN || bytes < least)
        return bytes == least;
    memcpy(&taken, head, least);
    return taken.count > 0 && taken.count <= MGDS_TAKEN_MOST &&
           bytes == least + taken.count * sizeof(taken.request_id[0]);
}

static bool is_errno(int32_t error)
{
    return error <= 0 && error >= -LARGEST_ERRNO;
}

static bool is_memory(const struct mgds_export_handle *handle)
{
    return handle->id != 0 && handle->size <= UINT64_MAX - handle->base;
}

static const char *judge_ring(enum mgds_envelope kind,
                              const union mgds_envelope_head *head)
{
    const struct mgds_ring_told *told = &head->ring_told;

    switch (kind) {
    case MGDS_ENVELOPE_RING_ASKED:
        return head->ring_asked.token ? NULL : "it has no token";
    case MGDS_ENVELOPE_RING_TOLD:
        if (!is_errno(told->error))
            return "its error is none";
        return told->error || (told->number && told->handle.units > 0 &&
                               told->handle.units <= MGDS_RING_MOST)
                   ? NULL
                   : "it names no ring";
    default:
        return is_errno(head->ring_said.error) ? NULL : "its error is none";
    }
}

/* What must be true of the values by themselves, and whose they are. */
static const char *judge_head(enum mgds_envelope kind,
                              const union mgds_envelope_head *head,
                              uint32_t *rank)
{
    switch (kind) {
    case MGDS_ENVELOPE_RTS:
        *rank = head->rts.rank;
        return head->rts.tag < 0 ? "no message has its tag" : NULL;
    case MGDS_ENVELOPE_PULL:
        *rank = head->pull.rank;
        return is_errno(head->pull.refused) ? NULL : "its error is none";
    case MGDS_ENVELOPE_DATA:
        *rank = head->data.rank;
        return is_errno(head->data.error) ? NULL : "its error is none";
    case MGDS_ENVELOPE_EXPORT:
        *rank = head->exported.rank;
        return is_memory(&head->exported.handle) ? NULL : "it names no memory";
    case MGDS_ENVELOPE_IMPORTED:
        *rank = head->imported.rank;
        return is_errno(head->imported.error) ? NULL : "its error is none";
    case MGDS_ENVELOPE_ENDED:
        *rank = head->ended.rank;
        return is_errno(head->ended.error) ? NULL : "its error is none";
    case MGDS_ENVELOPE_BROKEN:
        *rank = head->broken.message.rank;
        return head->broken.error && is_errno(head->broken.error)
                   ? NULL
                   : "its error is none";
    default:
        return mgds_envelope_is_of_processes(kind) ? judge_ring(kind, head)
                                                   : NULL;
    }
}

int mgds_envelope_open(union mgds_envelope_head *out, enum mgds_envelope kind,
                       const void *head, size_t head_bytes, size_t body_bytes)
{
    const char *why;
    uint32_t rank = 0;

    if (!has_length(kind, head, head_bytes))
        return refuse_length(kind, "head", head_bytes);
    if (body_bytes > 0 && kind != MGDS_ENVELOPE_DATA)
        return refuse_length(kind, "body", body_bytes);
    memcpy(out, head, head_bytes);
    if (kind == MGDS_ENVELOPE_RTS && head_bytes < sizeof(out->rts))
        out->rts.address = out->rts.export = 0;
    why = judge_head(kind, out, &rank);
    if (!why)
        return 0;
    if (mgds_envelope_is_of_processes(kind))
        mgds_envelope_refuse_ring(kind, why);
    else
        mgds_envelope_refuse(kind, rank, why);
    return -EPROTO;
}

struct mgds_envelope_ends
mgds_envelope_ends(enum mgds_envelope kind,
                   const union mgds_envelope_head *head)
{
    switch (kind) {
    case MGDS_ENVELOPE_RTS:
        return (struct mgds_envelope_ends){head->rts.rank, head->rts.index,
                                           head->rts.to_index};
    case MGDS_ENVELOPE_EXPORT:
        return (struct mgds_envelope_ends){
            head->exported.rank, head->exported.index, head->exported.to_index};
    case MGDS_ENVELOPE_IMPORTED:
        return (struct mgds_envelope_ends){
            head->imported.rank, head->imported.index, head->imported.to_index};
    default:
        return (struct mgds_envelope_ends){head->tell.rank, head->tell.index,
                                           head->tell.to_index};
    }
}

/* The first word of all that have one. */
uint64_t mgds_envelope_comm(enum mgds_envelope kind,
                            const union mgds_envelope_head *head)
{
    return kind == MGDS_ENVELOPE_RTS ? head->rts.comm : head->tell.comm;
}

bool mgds_envelope_is_of_processes(enum mgds_envelope kind)
{
    return kind >= MGDS_ENVELOPE_RING_ASKED &&
           kind <= MGDS_ENVELOPE_RING_CLOSED;
}

bool mgds_envelope_needs_rts(enum mgds_envelope kind)
{
    return kind == MGDS_ENVELOPE_REACHED || kind == MGDS_ENVELOPE_REVOKE ||
           kind == MGDS_ENVELOPE_BROKEN;
}
