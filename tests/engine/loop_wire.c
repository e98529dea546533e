/* The loop of loop_wire.h. */
#include "tests/engine/loop_wire.h"

#include <stdlib.h>
#include <string.h>

uint64_t loop_domain[WIRE_PEERS];

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
           post->kind == MGDS_ENVELOPE_ENDED;
}

unsigned loop_parts(const struct wire_post *post)
{
    unsigned parts = 0;

    if (loop_domain[post->peer] == 0)
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

    if (!names_operations(post))
        memcpy(&head, &loop_domain[post->peer], sizeof(uint64_t));
    post->headed = true;
    rc = wire_head(kind, &head, post->head_bytes, post->body_bytes, &landing);
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
                                        [MGDS_ENVELOPE_ENDED] = "ENDED"};

    return names[post->kind];
}
