/* The loop of loop_wire.h. */
#include "tests/engine/loop_wire.h"

#include <errno.h>
#include <string.h>

uint64_t loop_comm[WIRE_PEERS];

/* Nobody waits to hear that it was read. */
static bool is_whole(const struct wire_post *post)
{
    return post->kind != MGDS_ENVELOPE_DATA;
}

static bool names_operations(const struct wire_post *post)
{
    return post->kind == MGDS_ENVELOPE_PULL ||
           post->kind == MGDS_ENVELOPE_DATA ||
           post->kind == MGDS_ENVELOPE_TAKEN ||
           post->kind == MGDS_ENVELOPE_GRANT ||
           post->kind == MGDS_ENVELOPE_ENDED;
}

/* Who it is for has lost the rank that it is of. */
static bool is_deaf(const struct wire_post *post)
{
    return post->peer < 2 && wire_is_lost(!post->peer);
}

unsigned loop_parts(const struct wire_post *post)
{
    unsigned parts = 0;

    if (loop_comm[post->peer] == 0 || is_deaf(post))
        return 0;
    if (!post->headed)
        parts |= 1u << LOOP_HEAD;
    if (!post->read && !is_whole(post))
        parts |= 1u << LOOP_READ;
    if (post->headed && post->read && post->lands)
        parts |= 1u << LOOP_LAND;
    return parts;
}

/* The receiver knows the communicator by its own id. */
static void come(struct wire_post *post)
{
    union mgds_envelope_head head = post->head;
    struct wire_landing landing = {NULL, NULL};
    enum mgds_envelope kind = (enum mgds_envelope)post->kind;
    int rc;

    if (!names_operations(post) && !mgds_envelope_is_of_processes(kind))
        memcpy(&head, &loop_comm[post->peer], sizeof(uint64_t));
    post->headed = true;
    if (mgds_envelope_is_of_processes(kind)) /* never to itself */
        wire_author = (uint64_t)!post->peer + 1;
    rc = wire_head(kind, &head, post->head_bytes, post->body_bytes, &landing);
    wire_author = 0;
    post->lands = rc == 0 && post->body_bytes > 0;
    post->where = landing.where;
    post->landing = landing.arg;
}

/* Whatever lies there now. */
static void read_body(struct wire_post *post)
{
    if (post->body_bytes > 0)
        memcpy(post->body, post->source, post->body_bytes);
    post->read = true;
    post->done(post->arg, 0);
}

static void land(struct wire_post *post)
{
    const struct wire_landing landing = {post->where, post->landing};

    post->lands = false;
    wire_land(&landing, post->body, post->body_bytes);
}

void loop_do(struct wire_post *post, enum loop_part part)
{
    bool last = is_whole(post);

    if (last) {
        wire_take(post);
        post->done(post->arg, 0);
    }
    if (part == LOOP_HEAD)
        come(post);
    else if (part == LOOP_READ)
        read_body(post);
    else
        land(post);
    if (!last && (!post->headed || !post->read || post->lands))
        return;
    if (!last)
        wire_take(post);
    wire_forget(post);
}

/* Nothing more of it comes. */
static void drop(struct wire_post *post, int rc)
{
    const struct wire_landing landing = {post->where, post->landing};

    wire_take(post);
    if (!post->read)
        post->done(post->arg, rc);
    if (post->lands)
        wire_land_fails(&landing);
    wire_forget(post);
}

static void drop_all(unsigned peer, bool read_too, int rc)
{
    struct wire_post *post = wire_first(), *next;

    for (; post; post = next) {
        next = wire_next(post);
        if (post->peer == peer && (read_too || !post->read))
            drop(post, rc);
    }
}

void loop_lose(unsigned rank, unsigned other)
{
    wire_break(other);
    drop_all(other, false, -ECONNRESET);
    /* it has left, as far as the other knows */
    drop_all(rank, true, 0);
    wire_lose(other);
}

void loop_fail(void)
{
    for (unsigned i = 0; i < WIRE_PEERS; i++)
        if (wire_is_lost(i))
            drop_all(i, false, -ECONNRESET);
}

const char *loop_name(const struct wire_post *post)
{
    static const char *const names[] = {[MGDS_ENVELOPE_RTS] = "RTS",
                                        [MGDS_ENVELOPE_PULL] = "PULL",
                                        [MGDS_ENVELOPE_DATA] = "DATA",
                                        [MGDS_ENVELOPE_REACHED] = "REACHED",
                                        [MGDS_ENVELOPE_SUBSCRIBE] = "SUBSCRIBE",
                                        [MGDS_ENVELOPE_TAKEN] = "TAKEN",
                                        [MGDS_ENVELOPE_HELLO] = "HELLO",
                                        [MGDS_ENVELOPE_EXPORT] = "EXPORT",
                                        [MGDS_ENVELOPE_IMPORTED] = "IMPORTED",
                                        [MGDS_ENVELOPE_REVOKE] = "REVOKE",
                                        [MGDS_ENVELOPE_ENDED] = "ENDED",
                                        [MGDS_ENVELOPE_GRANT] = "GRANT",
                                        [MGDS_ENVELOPE_RING_ASKED] = "ASKED",
                                        [MGDS_ENVELOPE_RING_TOLD] = "TOLD",
                                        [MGDS_ENVELOPE_RING_MAPPED] = "MAPPED",
                                        [MGDS_ENVELOPE_RING_SHORT] = "SHORT",
                                        [MGDS_ENVELOPE_RING_CLOSED] = "CLOSED"};

    return names[post->kind];
}
