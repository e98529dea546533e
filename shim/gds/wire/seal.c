/* Sealing frames and looking at seals; see seal.h. */
#include "shim/gds/wire/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/wire/window.h"

struct mgds_sender {
    struct mgds_sender *next;
    uint64_t process;          /* constant */
    struct mgds_siphash begun; /* constant */
    struct mgds_window window;
};

/* What the tag is over, beside from and to, lies behind these. */
enum { SEALED_FROM = offsetof(struct mgds_wire_frame, number) };

_Static_assert(offsetof(struct mgds_wire_frame, from) + sizeof(uint64_t) ==
                   SEALED_FROM,
               "from is sealed by the beginning, the rest as it lies");

struct mgds_siphash mgds_seal_begin(const struct mgds_siphash_key *key,
                                    uint64_t from, uint64_t to)
{
    struct mgds_siphash begun = mgds_siphash_begin(key);

    mgds_siphash_word(&begun, from);
    mgds_siphash_word(&begun, to);
    return begun;
}

uint64_t mgds_seal_tag(const struct mgds_siphash *begun,
                       const struct mgds_wire_frame *frame, size_t bytes)
{
    return mgds_siphash_end(*begun, (const char *)frame + SEALED_FROM,
                            bytes - SEALED_FROM);
}

static struct mgds_sender **bucket_of(struct mgds_senders *senders,
                                      uint64_t process)
{
    return &senders->bucket[process % MGDS_SENDER_BUCKETS];
}

static struct mgds_sender *find_sender(struct mgds_senders *senders,
                                       uint64_t process)
{
    struct mgds_sender *sender = *bucket_of(senders, process);

    while (sender && sender->process != process)
        sender = sender->next;
    return sender;
}

static struct mgds_sender *add_sender(struct mgds_senders *senders,
                                      uint64_t process,
                                      const struct mgds_siphash *begun)
{
    struct mgds_sender **bucket = bucket_of(senders, process);
    struct mgds_sender *sender =
        (struct mgds_sender *)mgds_calloc(1, sizeof(*sender));

    if (!sender)
        return NULL;
    sender->process = process;
    sender->begun = *begun;
    sender->next = *bucket;
    *bucket = sender;
    return sender;
}

/* The copy is aligned, which UCX's is not. */
static int open_frame(struct mgds_wire_frame *frame, const void *header,
                      size_t bytes, size_t body_bytes)
{
    if (bytes < mgds_wire_frame_bytes(0) || bytes > sizeof(*frame))
        return -EBADMSG;
    memcpy(frame, header, bytes);
    return body_bytes == mgds_wire_body(frame) ? 0 : -EBADMSG;
}

int mgds_senders_admit(struct mgds_senders *senders,
                       const struct mgds_wire_identity *self,
                       struct mgds_wire_frame *frame, const void *header,
                       size_t bytes, size_t body_bytes)
{
    struct mgds_sender *sender;
    struct mgds_siphash begun;
    int rc = open_frame(frame, header, bytes, body_bytes);

    if (rc < 0)
        return rc;
    sender = find_sender(senders, frame->from);
    begun = sender ? sender->begun
                   : mgds_seal_begin(&self->key, frame->from, self->process);
    if (mgds_seal_tag(&begun, frame, bytes) != frame->tag)
        return -EBADMSG;
    if (!sender)
        sender = add_sender(senders, frame->from, &begun);
    return sender ? mgds_window_take(&sender->window, frame->number) : -ENOMEM;
}

void mgds_senders_fini(struct mgds_senders *senders)
{
    for (unsigned i = 0; i < MGDS_SENDER_BUCKETS; i++) {
        while (senders->bucket[i]) {
            struct mgds_sender *next = senders->bucket[i]->next;

            mgds_window_fini(&senders->bucket[i]->window);
            explicit_bzero(senders->bucket[i], sizeof(*senders->bucket[i]));
            free(senders->bucket[i]);
            senders->bucket[i] = next;
        }
    }
}
